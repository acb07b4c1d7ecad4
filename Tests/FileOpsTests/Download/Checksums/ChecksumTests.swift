import HTTPClient
import Operations
import Testing

@testable import FileOps
@testable import Transfers

@Suite struct ChecksumTests {
    private static let md5 = [UInt8](0..<16)
    private static let sha256 = [UInt8](0..<32)

    @Test func `a checksum is the same after writing and reading`() throws {
        for algorithm in ChecksumAlgorithm.allCases where algorithm != .crc32c {
            let bytes = [UInt8](repeating: 0x0A, count: algorithm.byteCount)
            let checksum = try #require(Checksum(algorithm, bytes))
            #expect(checksum.text == "\(algorithm.rawValue):" + String(repeating: "0a", count: algorithm.byteCount))
            #expect(try Checksum(checksum.text.uppercased()) == checksum)
        }
        #expect(Checksum(.md5, [1]) == nil)
    }

    @Test(arguments: ["", ":", "md5", "md5:", "md5:0", "md5:0g", "sha3:00", "md5:00112233445566778899aabbccddeef"])
    func `a malformed checksum is refused`(_ text: String) {
        #expect(throws: PayloadError.self) { try Checksum(text) }
    }

    private static let reprDigests: [([String], [Checksum?])] = [
        (["sha-256=:\(Base64.encode(sha256)):"], [Checksum(.sha256, sha256)]),
        (
            ["sha-256=:\(Base64.encode(sha256)):, md5=:\(Base64.encode(md5)):"],
            [Checksum(.sha256, sha256), Checksum(.md5, md5)]
        ),
        (
            ["md5=:\(Base64.encode(md5)):;q=1", " SHA-256 = :\(Base64.encode(sha256)): "],
            [Checksum(.md5, md5), Checksum(.sha256, sha256)]
        ),
        // The last one counts.
        (["md5=:\(Base64.encode(sha256.prefix(16).reversed())):, md5=:\(Base64.encode(md5)):"], [Checksum(.md5, md5)]),
        (["unixsum=:AAAA:, crc32c=:AAAAAQ==:"], [Checksum(.crc32c, [0, 0, 0, 1])]),
        (["md5=\(Base64.encode(md5))"], []), (["sha-256=:\(Base64.encode(md5)):"], []), (["md5=:€:"], []),
        (["md5"], []), (["md5=:"], []), ([""], []), ([], []),
    ]

    @Test(arguments: reprDigests.indices) func `Repr-Digest has the checksums of the file`(_ index: Int) {
        let (fields, checksums) = Self.reprDigests[index]
        #expect(ChecksumFields.reprDigest(fields) == checksums)
    }

    @Test func `Content-MD5 is base64 of 16 bytes`() {
        #expect(ChecksumFields.contentMD5(" \(Base64.encode(Self.md5)) ") == Checksum(.md5, Self.md5))
        #expect(ChecksumFields.contentMD5(Base64.encode(Self.sha256)) == nil)
        #expect(ChecksumFields.contentMD5("-") == nil)
    }

    @Test func `x-goog-hash has two algorithms`() {
        let both = [Checksum(.crc32c, [0x9F, 0x4C, 0x77, 0xE8]), Checksum(.md5, Self.md5)]
        #expect(ChecksumFields.googHash(["crc32c=n0x36A==,md5=\(Base64.encode(Self.md5))"]) == both)
        #expect(ChecksumFields.googHash(["crc32c=n0x36A==", "md5=\(Base64.encode(Self.md5))"]) == both)
        #expect(ChecksumFields.googHash(["sha256=AAAA", "crc32c=AA=="]) == [])
    }

    @Test func `an answer states the checksums of an unencoded file only`() {
        let digest = Base64.encode(Self.md5)
        let checksums = { (status: Int, fields: [(name: String, value: String)]) in
            DownloadAnswer(status: status, fields: HeaderFields(fields)).checksums
        }
        let known = [Checksum(.md5, Self.md5)]
        #expect(checksums(200, [("repr-digest", "md5=:\(digest):")]) == known)
        #expect(checksums(206, [("Repr-Digest", "md5=:\(digest):")]) == known)
        #expect(checksums(200, [("Repr-Digest", "md5=:\(digest):"), ("Content-Encoding", "gzip")]) == [])
        #expect(checksums(200, [("Repr-Digest", "md5=:\(digest):"), ("Content-Encoding", "identity")]) == known)
        #expect(checksums(200, [("Content-MD5", digest)]) == known)
        #expect(checksums(206, [("Content-MD5", digest)]) == [])
        #expect(checksums(200, [("Content-MD5", digest), ("Content-Range", "bytes 0-1/3")]) == [])
        #expect(checksums(206, [("x-goog-hash", "md5=\(digest)")]) == known)
        #expect(checksums(200, [("x-goog-hash", "md5=\(digest)"), ("x-goog-stored-content-encoding", "gzip")]) == [])
    }
}
