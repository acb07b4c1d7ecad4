import Commands
import HTTPTypes
import Store
import Testing

@testable import Door

struct TusFieldTests {
    @Test(arguments: [
        ("sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=", UploadDigest.Algorithm.sha1),
        ("sha256 uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=", .sha256), ("md5 XrY7u+Ae7tCTyyK7j1rNww==", .md5),
        ("crc32 DUoRhQ==", .crc32), ("SHA1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=", .sha1),
    ])
    func `each checksum algorithm is read`(text: String, algorithm: UploadDigest.Algorithm) throws {
        #expect(try TusChecksum.read([.uploadChecksum: text])?.algorithm == algorithm)
    }

    @Test(arguments: [
        "", "sha1", "sha1 ", "sha1 YQ==", "crc32 DUoRhQ", "crc32c DUoRhQ==", "md4 XrY7u+Ae7tCTyyK7j1rNww==",
        "crc32 DUoRhQ==, crc32 DUoRhQ==",
    ])
    func `a malformed checksum is refused`(text: String) {
        #expect(throws: Problem.self) { try TusChecksum.read([.uploadChecksum: text]) }
    }

    @Test func `an unknown algorithm is refused with the known ones`() {
        let error = #expect(throws: Problem.self) { try TusChecksum.read([.uploadChecksum: "sha3 YQ=="]) }
        #expect(error?.detail.contains("sha1,sha256,sha512,md5,crc32") == true)
    }

    private static let one = "0199aaaa-0000-7000-8000-000000000001"
    private static let two = "0199aaaa-0000-7000-8000-000000000002"

    @Test func `a final upload names its parts by URLs or paths`() throws {
        let text = "final;https://door.example/base/uploads/\(Self.one) /uploads/\(Self.two)"
        let ids = try [#require(CommandID(Self.one)), #require(CommandID(Self.two))]
        let concatenation = try #require(try TusConcatenation.read([.uploadConcat: text]))
        #expect(concatenation == .final(ids))
        #expect(concatenation.text { "/u/\($0)" } == "final;/u/\(Self.one) /u/\(Self.two)")
        #expect(try TusConcatenation.read([.uploadConcat: "partial"]) == .partial)
    }

    @Test(arguments: [
        "", "final", "final;", "final; ", "partial;", "final;/files/0199aaaa-0000-7000-8000-000000000001",
        "final;/uploads/1", "final;/uploads/../etc/passwd", "final;0199aaaa-0000-7000-8000-000000000001", "other",
    ])
    func `a malformed concatenation is refused`(text: String) {
        #expect(throws: Problem.self) { try TusConcatenation.read([.uploadConcat: text]) }
    }
}
