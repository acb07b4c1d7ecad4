import Commands
import HTTPClient
import Testing

@testable import FileOps
@testable import Transfers

/// A download of 1 MB that is cut at 400 kB, from an origin with one fault, until the command ends. The same
/// faults were measured with curl, wget and aria2.
struct FaultCase: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var hasChecksum = false
    var first = FaultyOriginTests.version
    var cut: Int? = 400_000
    var firstDelimiting = SimulatedFaults.Delimiting.length
    /// Applied after the first execution.
    var prepare: @Sendable (inout SimulatedOrigin) -> Void = { _ in }
    /// The end of the first execution.
    var firstOutcome = SimulatedDownload.Outcome.interrupted
    /// The end of the second one, where it does not end the command.
    var secondOutcome: SimulatedDownload.Outcome?
    var outcome = SimulatedDownload.Outcome.published(isUnverified: false)
    var resumed: Int64?
}

@Suite struct FaultyOriginTests {
    static let version = SimulatedVersion(
        bytes: SimulatedVersion.bytes(1_000_000, seed: 3), tag: "\"a\"", lastModified: SimulatedVersion.oldDate)
    private static let bare = SimulatedVersion(bytes: version.bytes)
    private static let newBytes = SimulatedVersion.bytes(1_000_000, seed: 4)

    static let rows: [FaultCase] = [
        FaultCase(
            testDescription: "changed file, new ETag",
            prepare: {
                $0.version = SimulatedVersion(bytes: newBytes, tag: "\"b\"", lastModified: version.lastModified)
            }),
        FaultCase(
            testDescription: "changed file, new ETag, If-Range ignored",
            prepare: {
                $0.version = SimulatedVersion(bytes: newBytes, tag: "\"b\"", lastModified: version.lastModified)
                $0.faults.ignoresIfRange = true
            }),
        FaultCase(
            testDescription: "changed file, no validators", first: bare, prepare: { $0.version.bytes = newBytes },
            resumed: 0),
        FaultCase(
            testDescription: "changed file, no validators, checksum of the first: charged", hasChecksum: true,
            first: bare,
            prepare: { $0.version.bytes = newBytes }, secondOutcome: .failed(.command), outcome: .final),
        FaultCase(
            testDescription: "changed file, no validators, checksum of the new: by the overlap", hasChecksum: true,
            first: SimulatedVersion(bytes: newBytes), prepare: { $0.version.bytes = version.bytes }, resumed: 0),
        FaultCase(testDescription: "200 instead of 206", prepare: { $0.faults.ignoresRange = true }, resumed: 0),
        FaultCase(
            testDescription: "206 starts 4 KiB early", prepare: { $0.faults.startsEarlier = 4096 }, resumed: 1),
        FaultCase(testDescription: "206 starts at 0", prepare: { $0.faults.startsEarlier = .max }, resumed: 1),
        FaultCase(
            testDescription: "206 in pieces of 100 kB", prepare: { $0.faults.pieceLength = 100_000 }, resumed: 1),
        FaultCase(
            testDescription: "shrunk file (416)",
            prepare: {
                $0.version.bytes.removeLast(700_000)
                $0.version.tag = "\"b\""
                $0.faults.ignoresIfRange = true
            }, resumed: 0),
        FaultCase(
            testDescription: "shrunk file (416), same tag", prepare: { $0.version.bytes.removeLast(700_000) },
            resumed: 0),
        FaultCase(
            testDescription: "no length, closed early: unverified", cut: 400_000, firstDelimiting: .close,
            firstOutcome: .published(isUnverified: true)),
        FaultCase(
            testDescription: "no length, closed early, with a checksum: the part is continued", hasChecksum: true,
            cut: 400_000, firstDelimiting: .close, prepare: { $0.faults.delimiting = .length },
            firstOutcome: .failed(.command), resumed: 1),
        FaultCase(
            testDescription: "chunked, cut: resumes", firstDelimiting: .chunked,
            prepare: { $0.faults.delimiting = .chunked },
            resumed: 1),
        FaultCase(testDescription: "already complete", cut: nil, resumed: 1),
        FaultCase(
            testDescription: "already complete (416)", cut: nil,
            prepare: {
                $0.faults.refusesRanges = true
                $0.faults.omitsLengthOf416 = true
            }, resumed: 0),
        FaultCase(
            testDescription: "503 once in between", prepare: { $0.nextStatuses = [503] }, secondOutcome: .failed(.link),
            resumed: 1),
        FaultCase(
            testDescription: "login page (200) on resume", prepare: { $0.nextStatuses = [200] },
            secondOutcome: .failed(.command), resumed: 1),
    ]

    @Test(arguments: rows) func `a fault never mixes two versions`(_ row: FaultCase) {
        var origin = SimulatedOrigin(row.first)
        var download = SimulatedDownload()
        if row.hasChecksum { download.terms.checksum = SimulatedDownload.checksum(Self.version.bytes) }
        origin.faults.delimiting = row.firstDelimiting
        origin.faults.cutsAt = row.cut
        let first = download.execute(&origin)
        guard row.cut != nil else {
            #expect(first == .published(isUnverified: false))
            // The worker died before the rename.
            download.target = nil
            row.prepare(&origin)
            #expect(download.run(&origin) == row.outcome)
            #expect(download.target == Self.version.bytes)
            return
        }
        #expect(first == row.firstOutcome)
        if first == .published(isUnverified: true) {
            #expect(download.target == Array(Self.version.bytes.prefix(400_000)))
            return
        }
        #expect(download.part.count == 400_000)
        row.prepare(&origin)
        if let outcome = row.secondOutcome { #expect(download.execute(&origin) == outcome) }
        #expect(download.run(&origin) == row.outcome, "\(download.reason)")
        if row.outcome == .final {
            #expect(download.target == nil)
            #expect(download.part.isEmpty)
        } else {
            #expect(download.target == origin.version.bytes)
            if let resumed = row.resumed { #expect(download.stored?.counts.resumed == resumed) }
        }
    }

    @Test func `a login page leaves the part as it is`() {
        var origin = SimulatedOrigin(Self.version)
        var download = SimulatedDownload()
        origin.faults.cutsAt = 400_000
        _ = download.execute(&origin)
        origin.nextStatuses = [200]
        #expect(download.execute(&origin) == .failed(.command))
        #expect(download.part == Array(Self.version.bytes.prefix(400_000)))
        #expect(download.reason.contains("looks like another page"))
    }

    @Test func `an empty file is complete at once`() {
        var origin = SimulatedOrigin(SimulatedVersion(bytes: [], tag: "\"e\""))
        var download = SimulatedDownload()
        #expect(download.run(&origin) == .published(isUnverified: false))
        #expect(download.target == [])
    }

    @Test func `a part that is longer than the file starts over`() {
        var origin = SimulatedOrigin(Self.version)
        var download = SimulatedDownload()
        origin.faults.cutsAt = 400_000
        _ = download.execute(&origin)
        download.part += SimulatedVersion.bytes(700_000, seed: 9)
        origin.forgetRequests()
        #expect(download.run(&origin) == .published(isUnverified: false))
        #expect(download.target == Self.version.bytes)
        #expect(origin.requests == [.whole(condition: nil)])
    }

    @Test func `a new body has no synced bytes`() {
        var checkpoint = DownloadCheckpoint(boot: "b")
        checkpoint.synced = 30_000
        var rules = DownloadRequestRules(
            DownloadTerms(url: "https://h/a"), checkpoint: checkpoint, partLength: 40_000, boot: "b")
        guard case .replace = rules.answer(DownloadAnswer(status: 200, fields: HeaderFields([HTTPField]()))) else {
            Issue.record("the body does not replace the part")
            return
        }
        #expect(rules.checkpoint.synced == 0)
        rules.markSynced(7)
        #expect(rules.checkpoint.synced == 7)
    }

    @Test func `a part that was deleted meanwhile starts over`() {
        var origin = SimulatedOrigin(Self.version)
        var download = SimulatedDownload()
        origin.faults.cutsAt = 400_000
        _ = download.execute(&origin)
        download.part = []
        #expect(download.run(&origin) == .published(isUnverified: false))
        #expect(download.target == Self.version.bytes)
        #expect(download.stored?.counts == DownloadCounts())
    }

    @Test func `a wrong size or checksum is charged once and then final`() {
        var origin = SimulatedOrigin(Self.version)
        var sized = SimulatedDownload(DownloadTerms(url: "https://h/a", size: 999_999))
        #expect(sized.execute(&origin) == .failed(.command))
        #expect(sized.execute(&origin) == .final)
        #expect(sized.reason.contains("“size” is 999999"))

        var checked = SimulatedDownload(
            DownloadTerms(url: "https://h/a", checksum: SimulatedDownload.checksum([1])))
        #expect(checked.execute(&origin) == .failed(.command))
        #expect(checked.part.isEmpty)
        #expect(checked.execute(&origin) == .final)
        #expect(checked.reason.contains("than the payload states"))
    }

    @Test func `a size is enforced where the server states no length`() {
        for size in [Int64(400_000), 999_999, 1_000_001] {
            var origin = SimulatedOrigin(Self.version)
            origin.faults.delimiting = .chunked
            var download = SimulatedDownload(DownloadTerms(url: "https://h/a", size: size))
            #expect(download.run(&origin) == .final)
            #expect(download.target == nil)
        }
        var origin = SimulatedOrigin(Self.version)
        origin.faults.delimiting = .close
        origin.faults.cutsAt = 300_000
        var download = SimulatedDownload(DownloadTerms(url: "https://h/a", size: 1_000_000))
        #expect(download.execute(&origin) == .failed(.reset))
        #expect(download.run(&origin) == .published(isUnverified: false))
        #expect(download.stored?.counts.resumed == 1)
    }

    @Test func `a file beyond maxBytes is final`() {
        for delimiting in [SimulatedFaults.Delimiting.length, .chunked, .close] {
            var origin = SimulatedOrigin(Self.version)
            origin.faults.delimiting = delimiting
            var download = SimulatedDownload(DownloadTerms(url: "https://h/a", maxBytes: 999_999))
            #expect(download.execute(&origin) == .final)
            #expect(download.reason.contains("“maxBytes”, 999999"))
            var exact = SimulatedDownload(DownloadTerms(url: "https://h/a", maxBytes: 1_000_000))
            #expect(exact.execute(&origin) == .published(isUnverified: delimiting == .close))
        }
    }

    @Test func `the target's validators are sent and a 304 is success`() {
        var origin = SimulatedOrigin(Self.version)
        let current = DownloadValidators(tag: "\"a\"", lastModified: SimulatedVersion.oldDate)
        var download = SimulatedDownload(DownloadTerms(url: "https://h/a", condition: current))
        #expect(download.run(&origin) == .notModified)
        #expect(
            origin.requests.first?.fields.map { "\($0.name): \($0.value)" }
                == [
                    "Accept-Encoding: identity", "If-None-Match: \"a\"",
                    "If-Modified-Since: \(SimulatedVersion.oldDate)",
                ])
        var other = SimulatedDownload(
            DownloadTerms(url: "https://h/a", condition: DownloadValidators(tag: "\"z\"")))
        #expect(other.run(&origin) == .published(isUnverified: false))
        // Without a condition, 304 is not an answer with a file.
        origin.nextStatuses = [304]
        var unasked = SimulatedDownload()
        #expect(unasked.run(&origin) == .final)
    }

    @Test(arguments: [201, 202, 204]) func `a success without a file is charged`(_ status: Int) {
        var origin = SimulatedOrigin(Self.version)
        origin.nextStatuses = [status]
        var download = SimulatedDownload()
        #expect(download.execute(&origin) == .failed(.command))
    }

    @Test func `an execution starts over three times at most`() {
        var rules = DownloadRequestRules(
            DownloadTerms(url: "https://h/a"), checkpoint: nil, partLength: 0, boot: "b")
        for _ in 0..<3 { #expect(rules.overlapDiffered() == .send(.whole(condition: nil))) }
        guard case .failed(let failure, deletesPart: false) = rules.overlapDiffered() else {
            Issue.record("the fourth restart is a failure")
            return
        }
        #expect(failure.fault == .command)
    }

    @Test func `offsets beyond 4 GiB are exact`() {
        var checkpoint = DownloadCheckpoint(boot: "b")
        checkpoint.total = 6_000_000_001
        checkpoint.validators.tag = EntityTag("\"a\"")
        var rules = DownloadRequestRules(
            DownloadTerms(url: "https://h/a"), checkpoint: checkpoint, partLength: 5_000_000_000, boot: "b")
        #expect(rules.request == .range(from: 4_999_983_616, ifRange: "\"a\""))
        let fields = HeaderFields([
            ("Content-Range", "bytes 4999983616-6000000000/6000000001"), ("ETag", "\"a\""),
            ("Content-Length", "1000016385"),
        ])
        guard case .append(let body) = rules.answer(DownloadAnswer(status: 206, fields: fields)) else {
            Issue.record("the range is not appended")
            return
        }
        #expect(body.overlap == 4_999_983_616..<5_000_000_000)
        guard case .complete(let completion) = rules.bodyEnded(at: 6_000_000_001) else {
            Issue.record("the file is not complete")
            return
        }
        #expect(completion.length == 6_000_000_001)
    }

    @Test func `the checksums of the server are compared with the payload's`() {
        let version = Self.version
        let right = SimulatedDownload.checksum(version.bytes)?.bytes ?? []
        for (digest, outcome) in [
            (right, SimulatedDownload.Outcome.published(isUnverified: false)), (Array(1...16), .final),
        ] {
            var origin = SimulatedOrigin(version)
            origin.version.fields = [("Repr-Digest", "md5=:\(Self.base64(digest)):")]
            var download = SimulatedDownload()
            #expect(download.run(&origin) == outcome)
        }
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        Base64.encode(bytes)
    }
}
