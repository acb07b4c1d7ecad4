import Commands
import Crypto
import Foundation
import HTTPClient
import NIOCore
import Operations
import Synchronization
import TestSupport
import Testing

@testable import FileOps
@testable import S3
@testable import Transfers

/// The progress of a checksum.
@Suite struct VerificationTests {
    private final class Steps: Sendable {
        private let steps = Mutex<[Int64]>([])
        var all: [Int64] { steps.withLock { $0 } }
        func add(_ bytes: Int64) { steps.withLock { $0.append(bytes) } }
    }

    @Test func `the checksum of a part reports each mebibyte`() async throws {
        try await DownloadHarness.withDirectory { directory in
            let command = Command(id: CommandID(), type: "download", destination: .none, createdAt: .now)
            let execution = CommandExecution(command: command, payload: [], meter: TransferMeter())
            let target = CopyTarget(path: "\(directory.path)/a")
            let file = try await DownloadFile(at: target, BlockingIO.copies.queue(of: target.path), execution, nil)
            let bytes = sample(3 << 20)
            let block = DownloadFile.Block(bytes: ByteBuffer(bytes: bytes), offset: 0, isCompared: false)
            #expect(try await file.apply([block]))
            let checksum = try Checksum("sha256:\(Hexadecimal.text(SHA256.hash(data: bytes)))")
            let completion = DownloadCompletion(
                length: Int64(bytes.count), checksums: [checksum], isUnverified: false)
            let steps = Steps()
            #expect(try await file.differing(completion, read: { steps.add($0) }) == nil)
            #expect(steps.all == [1 << 20, 2 << 20, 3 << 20])
        }
    }

    @Test func `the digest of a large part reports each call to the file system, and a small one nothing`() async throws
    {
        let directory = try TemporaryDirectory("verification")
        defer { directory.remove() }
        let source = try SourceFile(path: try directory.solidFile("a", 30 << 20))
        let (large, small) = (Steps(), Steps())
        _ = try await S3PartReader(source: source).digest(of: 4 << 20..<24 << 20, .md5) { large.add($0) }
        #expect(large.all == [8 << 20, 16 << 20, 20 << 20])
        _ = try await S3PartReader(source: source).digest(of: 0..<8 << 20, .md5) { small.add($0) }
        #expect(small.all.isEmpty)
    }
}
