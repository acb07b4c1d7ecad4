import Commands
import TestSupport
import Testing

@testable import Operations

@Suite struct S3CheckpointTests {
    private let source = SourceIdentity(size: 20 << 20, modified: 5, inode: 6, device: 7)

    private func planned() throws -> S3Checkpoint { S3Checkpoint(try PartPlan(size: source.size), of: source) }

    @Test func `a checkpoint of every phase is written and read back`() throws {
        let planned = try planned()
        var initiated = planned.initiated("VXBs", abortDate: Timestamp(milliseconds: 9))
        #expect(initiated.phase == .initiated && initiated.uploadID == "VXBs")
        initiated.wasDenied = true
        initiated.damagedPart = 3
        let restarted = try #require(initiated.restarted())
        for checkpoint in [planned, initiated, initiated.completing(), initiated.aborting(), restarted] {
            #expect(S3Checkpoint(checkpoint.bytes) == checkpoint)
            #expect(checkpoint.plan == (try PartPlan(size: source.size)))
            #expect(checkpoint.bytes.count < 400)
        }
    }

    @Test func `a restart forgets the upload and is bounded`() throws {
        var checkpoint = try planned().initiated("a", abortDate: .zero)
        for restarts in 1...S3Checkpoint.maxRestarts {
            checkpoint = try #require(checkpoint.restarted())
            #expect(checkpoint.restarts == restarts)
            #expect(checkpoint.phase == .planned && checkpoint.uploadID == nil && checkpoint.abortDate == nil)
            checkpoint = checkpoint.initiated("b", abortDate: nil)
        }
        #expect(checkpoint.restarted() == nil)
        #expect(S3Checkpoint(checkpoint.bytes)?.restarted() == nil)
    }

    @Test func `only an upload that exists is completed or aborted`() throws {
        let planned = try planned()
        #expect(planned.completing().phase == .planned && planned.aborting().phase == .planned)
        let aborting = planned.initiated("a", abortDate: nil).aborting()
        #expect(aborting.completing().phase == .aborting)
    }

    @Test func `a checkpoint is valid for the same file only`() throws {
        let checkpoint = try planned()
        #expect(checkpoint.isValid(for: source))
        var other = source
        other.modified += 1
        #expect(!checkpoint.isValid(for: other))
    }

    @Test(arguments: [
        nil, "", "{}", "{\"s3\":\"planned\"}", "{\"tus\":\"https://h/f\"}",
        text(phase: "flying"), text(upload: nil), text(phase: "planned"), text(upload: "a b"), text(partSize: 1),
        text(parts: 4), text(parts: 0), text(size: -1), text(size: 1 << 62), text(upload: ""),
    ])
    func `a checkpoint that this program cannot read is ignored`(_ text: String?) {
        #expect(S3Checkpoint(text.map { Array($0.utf8) }) == nil)
    }

    @Test func `numbers out of range are clamped or ignored`() throws {
        let text = Self.text(more: ",\"restarts\":99,\"damaged\":4,\"denied\":1,\"abortDate\":\"soon\"")
        let checkpoint = try #require(S3Checkpoint(Array(text.utf8)))
        #expect(checkpoint.restarts == 3 && checkpoint.damagedPart == nil && !checkpoint.wasDenied)
        #expect(checkpoint.abortDate == nil)
    }

    @Test func `random bytes are ignored`() {
        var random = SeededRandom.announced("random checkpoints")
        let good = Array(Self.text().utf8)
        for _ in 0..<2000 {
            var bytes = good
            bytes[random.number(in: 0..<bytes.count)] = random.bytes(1)[0]
            _ = S3Checkpoint(bytes)
            _ = S3Checkpoint(random.bytes(random.number(in: 0..<100)))
        }
    }

    private static func text(
        phase: String = "initiated", upload: String? = "a", partSize: Int64 = 8 << 20, parts: Int = 3,
        size: Int64 = 20 << 20, more: String = ""
    ) -> String {
        "{\"s3\":\"\(phase)\"\(upload.map { ",\"upload\":\"\($0)\"" } ?? ""),\"partSize\":\(partSize),\"parts\":\(parts)\(more),"
            + "\"source\":{\"size\":\(size),\"mtime\":5,\"inode\":6,\"device\":7}}"
    }
}
