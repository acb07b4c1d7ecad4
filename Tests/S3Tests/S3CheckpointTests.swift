import Commands
import Store
import TestSupport
import Testing

@testable import S3
@testable import Transfers

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

    @Test func `acknowledged parts are read back with their gaps and checksums`() throws {
        var checkpoint = try planned().initiated("a", abortDate: nil)
        checkpoint.acknowledge(S3Part(1, etag: "d41d8cd98f00b204e9800998ecf8427e"))
        checkpoint.acknowledge(S3Part(3, etag: "\"x", checksum: "4waSgw=="))
        let read = try #require(S3Checkpoint(checkpoint.bytes))
        #expect(read == checkpoint && read.acknowledged == [1, 3])
        checkpoint.lose([3, 2])
        #expect(S3Checkpoint(checkpoint.bytes)?.acknowledged == [1])
        #expect(checkpoint.restarted()?.parts == [:] && checkpoint.initiated("b", abortDate: nil).parts == [:])
    }

    @Test(
        arguments: [
            (#"["a",["b","c"],null,7,"d"]"#, [1, 2]), ("7", []), (#"[[],["a","b","c"],[1],""]"#, []),
            (#"[null,null,"a"]"#, [3]),
        ] as [(String, Set<Int>)])
    func `tags of another form, or beyond the plan, count as not acknowledged`(_ tags: String, _ known: Set<Int>) throws
    {
        let text = String(decoding: try planned().initiated("a", abortDate: nil).bytes.dropLast(), as: UTF8.self)
        let read = try #require(S3Checkpoint(Array("\(text),\"tags\":\(tags)}".utf8)))
        #expect(read.acknowledged == known)
    }

    @Test func `an upload of 10,000 parts writes less than 30 MB of checkpoints`() throws {
        let large = SourceIdentity(size: 10_000 * (8 << 20), modified: 5, inode: 6, device: 7)
        var checkpoint = S3Checkpoint(try PartPlan(size: large.size), of: large).initiated("a", abortDate: nil)
        var (unsaved, written, maxUnsaved) = (0, 0, 0)
        for number in 1...10_000 {
            checkpoint.acknowledge(S3Part(number, etag: "d41d8cd98f00b204e9800998ecf8427e"))
            unsaved += 1
            if number <= 64 { #expect(checkpoint.isDue(unsaved: unsaved) == (number < 64 || unsaved > 1)) }
            guard checkpoint.isDue(unsaved: unsaved) else { continue }
            maxUnsaved = max(maxUnsaved, unsaved)
            // The bytes of a tag, its quotes and its comma.
            written += 300 + number * 35
            unsaved = 0
        }
        #expect(written < 30_000_000 && maxUnsaved <= 10_000 / 64 + 1)
        #expect(abs(checkpoint.bytes.count - 350_000) < 1000)
    }

    @Test func `CRC-32C has the value of its specification`() {
        var checksum = CRC32(.castagnoli)
        for piece in ["12345", "", "6789"] { Array(piece.utf8).withUnsafeBytes { checksum.update($0) } }
        #expect(checksum.value == 0xE306_9283)
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
        for _ in RandomRounds("random checkpoints", 500...2000) {
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
