import Commands
import HTTPClient
import TestSupport
import Testing

@testable import FileOps

@Suite struct DownloadCheckpointTests {
    private static let boot = "0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0"

    private static func full(tag: String?) -> DownloadCheckpoint {
        var checkpoint = DownloadCheckpoint(boot: boot)
        checkpoint.total = 1_073_741_824
        checkpoint.synced = 268_435_456
        checkpoint.validators = DownloadValidators(
            tag: tag, lastModified: "Fri, 14 Nov 2025 08:00:00 GMT",
            date: RetryAfter.date("Fri, 21 Nov 2025 10:00:00 GMT"))
        checkpoint.mediaType = "video/mp4"
        checkpoint.counts = DownloadCounts(resumed: 2, restarted: 1, wasted: 400_000)
        return checkpoint
    }

    @Test(arguments: ["\"5f2c1b7a-40000000\"", "W/\"a\"", "\"\"", "\"a\\b\"", nil])
    func `a checkpoint is the same after writing and reading`(_ tag: String?) {
        var checkpoint = Self.full(tag: tag)
        #expect(DownloadCheckpoint(checkpoint.bytes) == checkpoint)
        (checkpoint.sawOtherPage, checkpoint.mismatches, checkpoint.total) = (true, 1, nil)
        #expect(DownloadCheckpoint(checkpoint.bytes) == checkpoint)
        #expect(DownloadCheckpoint(DownloadCheckpoint(boot: "").bytes) == DownloadCheckpoint(boot: ""))
    }

    @Test func `the stored form is JSON of a few hundred bytes`() {
        let text = String(decoding: Self.full(tag: "\"5f2c1b7a-40000000\"").bytes, as: UTF8.self)
        #expect(
            text
                == #"{"total":1073741824,"boot":"\#(Self.boot)","synced":268435456,"etag":"\"5f2c1b7a-40000000\"","#
                + #""lastModified":"Fri, 14 Nov 2025 08:00:00 GMT","date":1763719200,"type":"video/mp4","#
                + #""counts":[2,1,400000]}"#)
    }

    @Test func `members that do not fit are left out, the least important first`() throws {
        for length in 0..<400 {
            let checkpoint = Self.full(tag: "\"\(String(repeating: "a", count: length))\"")
            #expect(checkpoint.bytes.count <= DownloadCheckpoint.maxBytes)
            let stored = try #require(DownloadCheckpoint(checkpoint.bytes))
            #expect(stored.total == checkpoint.total && stored.synced == checkpoint.synced)
            if length <= 140 { #expect(stored.validators.tag == checkpoint.validators.tag) }
            // Without its tag the date is not a validator.
            if stored.validators.tag == nil { #expect(stored.validators.ifRange == nil) }
        }
    }

    @Test func `random checkpoints fit`() {
        var random = SeededRandom.announced("download checkpoints")
        for _ in RandomRounds("download checkpoints", 500...3000) {
            var checkpoint = DownloadCheckpoint(boot: String(repeating: "b", count: random.number(in: 0..<80)))
            if random.chance(0.8) { checkpoint.total = Int64(random.number(in: 0..<Int.max)) }
            checkpoint.synced = Int64(random.number(in: 0..<Int.max))
            checkpoint.sawOtherPage = random.chance(0.5)
            checkpoint.mismatches = random.number(in: 0..<3)
            let opaque = String(
                repeating: ["a", "\\"].randomElement(using: &random) ?? "a", count: random.number(in: 0..<200))
            checkpoint.validators = DownloadValidators(
                tag: random.chance(0.7) ? (random.chance(0.3) ? "W/" : "") + "\"\(opaque)\"" : nil,
                lastModified: random.chance(0.7) ? "Fri, 14 Nov 2025 08:00:00 GMT" : nil,
                date: random.chance(0.7)
                    ? Timestamp(milliseconds: Int64(random.number(in: 0..<1 << 50)) / 1000 * 1000) : nil)
            if random.chance(0.7) { checkpoint.mediaType = String(repeating: "\"", count: random.number(in: 0..<80)) }
            checkpoint.counts.wasted = Int64(random.number(in: 0..<Int.max))
            let bytes = checkpoint.bytes
            #expect(bytes.count <= DownloadCheckpoint.maxBytes)
            #expect(DownloadCheckpoint(bytes)?.total == checkpoint.total)
        }
    }

    @Test(arguments: [
        "", "[]", "{}", "{\"boot\":\"b\"}", "{\"boot\":\"b\",\"synced\":-1}", "{\"boot\":1,\"synced\":0}",
        "{\"boot\":\"b\",\"synced\":0,\"total\":-1}", "{\"boot\":\"b\",\"synced\":0,\"total\":\"x\"}",
        "{\"tus\":\"x\"}",
    ])
    func `an unreadable checkpoint is none`(_ text: String) {
        #expect(DownloadCheckpoint(Array(text.utf8)) == nil)
    }

    @Test func `damaged members of a checkpoint are not trusted`() throws {
        let text =
            #"{"boot":"b","synced":0,"etag":"a\nb","lastModified":"never","date":9223372036854775807,"mismatches":-4}"#
        let checkpoint = try #require(DownloadCheckpoint(Array(text.utf8)))
        #expect(checkpoint.validators.isEmpty)
        #expect(checkpoint.validators.date == nil)
        #expect(checkpoint.mismatches == 0)
        #expect(DownloadCheckpoint(nil) == nil)
    }
}
