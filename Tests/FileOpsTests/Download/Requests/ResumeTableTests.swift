import Commands
import HTTPClient
import Testing

@testable import FileOps

/// A download of 100,000 bytes whose first execution was cut off at 40,000, and then one answer to the
/// resume.
struct ResumeCase: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var hasChecksum = false
    var first: SimulatedVersion = ResumeTableTests.version
    /// Where the first body is cut.
    var cut = 40_000
    var firstDelimiting = SimulatedFaults.Delimiting.length
    var prepare: @Sendable (inout SimulatedOrigin) -> Void = { _ in }
    /// Ends of the executions that follow.
    var outcomes: [SimulatedDownload.Outcome] = [.published(isUnverified: false)]
    var restarted: Int64 = 0
    /// Whether the published file is that of the origin at the end.
    var publishesFile = true
    /// The requests after the first execution.
    var requests: [String]?
}

@Suite struct ResumeTableTests {
    static let version = SimulatedVersion(
        bytes: SimulatedVersion.bytes(100_000, seed: 1), tag: "\"a\"", lastModified: SimulatedVersion.oldDate)
    static let changed = SimulatedVersion(
        bytes: SimulatedVersion.bytes(100_000, seed: 2), tag: "\"b\"", lastModified: "Sat, 15 Nov 2025 08:00:00 GMT")

    static func version(_ change: (inout SimulatedVersion) -> Void) -> SimulatedVersion {
        var version = version
        change(&version)
        return version
    }

    private static let small = version { $0.bytes = Array($0.bytes.prefix(12_000)) }
    private static let untagged = version { ($0.tag, $0.lastModified) = (nil, nil) }

    /// Each row of the table of answers to a resume.
    static let rows: [ResumeCase] = [
        ResumeCase(
            testDescription: "206 with the same version: written on", requests: ["bytes=23616- if \"a\""]),
        ResumeCase(
            testDescription: "the overlap differs under the same tag: restart",
            prepare: {
                $0.version = changed
                ($0.version.tag, $0.version.lastModified) = (version.tag, version.lastModified)
            }, restarted: 1, requests: ["bytes=23616- if \"a\"", "whole"]),
        ResumeCase(
            testDescription: "206 that starts earlier: compared from its start",
            prepare: { $0.faults.startsEarlier = 4096 }),
        ResumeCase(testDescription: "206 that starts at 0", prepare: { $0.faults.startsEarlier = .max }),
        ResumeCase(
            testDescription: "206 that starts later: restart", prepare: { $0.faults.startsEarlier = -100 },
            restarted: 1,
            requests: ["bytes=23616- if \"a\"", "whole"]),
        ResumeCase(
            testDescription: "206 without Content-Range: restart", prepare: { $0.faults.rangeField = .missing },
            restarted: 1, requests: ["bytes=23616- if \"a\"", "whole"]),
        ResumeCase(
            testDescription: "206 with a malformed Content-Range: restart",
            prepare: { $0.faults.rangeField = .malformed }, restarted: 1),
        ResumeCase(
            testDescription: "multipart/byteranges: restart", prepare: { $0.faults.rangeField = .multipart },
            restarted: 1),
        ResumeCase(
            testDescription: "206 with another total: restart", prepare: { $0.faults.rangeField = .otherTotal },
            restarted: 1),
        ResumeCase(
            testDescription: "206 with another tag: restart",
            prepare: {
                $0.version.tag = "\"b\""
                $0.faults.ignoresIfRange = true
            }, restarted: 1),
        ResumeCase(
            testDescription: "206 without the tag: restart", prepare: { $0.faults.omitsValidators = true }, restarted: 1
        ),
        ResumeCase(
            testDescription: "206 without the date, which If-Range has confirmed: written on",
            first: version { $0.tag = nil }, prepare: { $0.faults.omitsValidators = true },
            requests: ["bytes=23616- if \(SimulatedVersion.oldDate)"]),
        ResumeCase(
            testDescription: "206 that is shorter: the rest is requested from its end",
            prepare: { $0.faults.pieceLength = 50_000 }, requests: ["bytes=23616- if \"a\"", "bytes=57232- if \"a\""]),
        ResumeCase(
            testDescription: "206 of pieces that are shorter than the overlap",
            prepare: { $0.faults.pieceLength = 5000 }),
        ResumeCase(
            testDescription: "206 of pieces that start before the asked offset: each brings half of its rest",
            prepare: {
                $0.faults.startsEarlier = 4096
                $0.faults.pieceLength = 8299
            }),
        ResumeCase(
            testDescription: "206 of a block that ends before the asked offset: charged",
            prepare: {
                $0.faults.startsEarlier = .max
                $0.faults.pieceLength = 5000
            }, outcomes: [.failed(.command)], publishesFile: false),
        ResumeCase(
            testDescription: "206 with the total *: complete at the remembered total",
            prepare: { $0.faults.rangeField = .star }, requests: ["bytes=23616- if \"a\""]),
        ResumeCase(
            testDescription: "206 with the total * and none remembered: complete by 416 and HEAD",
            firstDelimiting: .chunked,
            prepare: {
                $0.faults.rangeField = .star
                $0.faults.delimiting = .length
            },
            requests: [
                "bytes=23616- if \"a\"", "bytes=83616- if \"a\"", "bytes=100000- if \"a\"", "head",
            ]),
        ResumeCase(
            testDescription: "200 with Content-Range: the field is believed", prepare: { $0.faults.rangeStatus = 200 },
            requests: ["bytes=23616- if \"a\""]),
        ResumeCase(
            testDescription: "200 with multipart/byteranges: restart",
            prepare: {
                $0.faults.rangeStatus = 200
                $0.faults.rangeField = .multipart
            }, restarted: 1, requests: ["bytes=23616- if \"a\"", "whole"]),
        ResumeCase(
            testDescription: "200 with a malformed Content-Range: restart",
            prepare: {
                $0.faults.rangeStatus = 200
                $0.faults.rangeField = .malformed
            }, restarted: 1, requests: ["bytes=23616- if \"a\"", "whole"]),
        ResumeCase(
            testDescription: "200: the body replaces the part in the same request",
            prepare: { $0.faults.ignoresRange = true }, restarted: 1, requests: ["bytes=23616- if \"a\""]),
        ResumeCase(
            testDescription: "200 for a changed file", prepare: { $0.version = changed }, restarted: 1,
            requests: ["bytes=23616- if \"a\""]),
        ResumeCase(
            testDescription: "200 of another type and length: charged, then resumed",
            prepare: { $0.nextStatuses = [200] },
            outcomes: [.failed(.command), .published(isUnverified: false)],
            requests: ["bytes=23616- if \"a\"", "bytes=23616- if \"a\""]),
        ResumeCase(
            testDescription: "200 of another type and length for the second time: it is the file",
            prepare: { $0.nextStatuses = [200, 200] }, outcomes: [.failed(.command), .published(isUnverified: false)],
            restarted: 1, publishesFile: false),
        ResumeCase(
            testDescription: "416 with the length of the part, and the length and tag by HEAD: complete", cut: 100_000,
            prepare: { $0.faults.refusesRanges = true }, requests: ["bytes=83616- if \"a\"", "head"]),
        ResumeCase(
            testDescription: "416 with the length of the part, and a checksum: complete", hasChecksum: true,
            cut: 100_000, prepare: { $0.faults.refusesRanges = true }, requests: ["bytes=83616- if \"a\""]),
        ResumeCase(
            testDescription: "416 without Content-Range, and HEAD with the same length and tag: complete", cut: 100_000,
            prepare: {
                $0.faults.refusesRanges = true
                $0.faults.omitsLengthOf416 = true
            }, requests: ["bytes=83616- if \"a\"", "head"]),
        ResumeCase(
            testDescription: "416 without Content-Range, and HEAD with another version: restart", cut: 100_000,
            prepare: {
                $0.version = changed
                $0.faults.ignoresIfRange = true
                $0.faults.refusesRanges = true
                $0.faults.omitsLengthOf416 = true
            }, restarted: 1, requests: ["bytes=83616- if \"a\"", "head", "whole"]),
        ResumeCase(
            testDescription: "416 of a file that is shorter than the part: restart",
            prepare: {
                $0.version.bytes.removeLast(90_000)
                $0.faults.ignoresIfRange = true
            }, restarted: 1, requests: ["bytes=23616- if \"a\"", "whole"]),
        ResumeCase(
            testDescription: "416 of a longer file where no total is remembered: restart", hasChecksum: true,
            firstDelimiting: .chunked, prepare: { $0.faults.refusesRanges = true }, restarted: 1,
            requests: ["bytes=23616- if \"a\"", "whole"]),
        ResumeCase(
            testDescription: "206 without a length that ends early: reset, then resumed",
            prepare: {
                $0.faults.delimiting = .close
                $0.faults.cutsAt = 30_000
            }, outcomes: [.failed(.reset), .published(isUnverified: false)],
            requests: ["bytes=23616- if \"a\"", "bytes=37232- if \"a\""]),
        ResumeCase(
            testDescription: "404: final", prepare: { $0.nextStatuses = [404] }, outcomes: [.final],
            publishesFile: false),
        ResumeCase(
            testDescription: "410: final", prepare: { $0.nextStatuses = [410] }, outcomes: [.final],
            publishesFile: false),
        ResumeCase(
            testDescription: "403 after a redirect: requested once more",
            prepare: {
                $0.nextStatuses = [403]
                $0.wasRedirected = true
            }, requests: ["bytes=23616- if \"a\"", "bytes=23616- if \"a\""]),
        ResumeCase(
            testDescription: "403 after a redirect for the second time: final",
            prepare: {
                $0.nextStatuses = [403, 403]
                $0.wasRedirected = true
            }, outcomes: [.final], publishesFile: false),
        ResumeCase(
            testDescription: "403 without a redirect: final", prepare: { $0.nextStatuses = [403] }, outcomes: [.final],
            publishesFile: false, requests: ["bytes=23616- if \"a\""]),
        // Which request is sent.
        ResumeCase(
            testDescription: "a part of up to 16 KiB starts over", first: small, cut: 10_000, restarted: 1,
            requests: ["whole"]),
        ResumeCase(
            testDescription: "a weak tag: from 0", first: version { $0.tag = "W/\"a\"" }, restarted: 1,
            requests: ["whole"]),
        ResumeCase(
            testDescription: "a weak tag with a checksum: Range alone", hasChecksum: true,
            first: version { $0.tag = "W/\"a\"" }, requests: ["bytes=23616-"]),
        ResumeCase(
            testDescription: "a young date: from 0",
            first: version { ($0.tag, $0.lastModified) = (nil, "Fri, 21 Nov 2025 09:59:01 GMT") }, restarted: 1,
            requests: ["whole"]),
        ResumeCase(
            testDescription: "a date of 60 s before: If-Range",
            first: version { ($0.tag, $0.lastModified) = (nil, "Fri, 21 Nov 2025 09:59:00 GMT") },
            requests: ["bytes=23616- if Fri, 21 Nov 2025 09:59:00 GMT"]),
        ResumeCase(testDescription: "no validator: from 0", first: untagged, restarted: 1, requests: ["whole"]),
        ResumeCase(
            testDescription: "no validator and a checksum: Range alone", hasChecksum: true, first: untagged,
            requests: ["bytes=23616-"]),
        ResumeCase(testDescription: "a complete part: the overlap confirms it", cut: 100_000),
    ]

    @Test(arguments: rows) func `a resume is answered`(_ row: ResumeCase) {
        var origin = SimulatedOrigin(row.first)
        var download = SimulatedDownload()
        if row.hasChecksum { download.terms.checksum = SimulatedDownload.checksum(row.first.bytes) }
        origin.faults.delimiting = row.firstDelimiting
        origin.faults.cutsAt = row.cut == row.first.bytes.count ? nil : row.cut
        if row.cut == row.first.bytes.count {
            // The worker died between the last byte and the rename.
            _ = download.execute(&origin)
            #expect(download.target != nil)
            download.target = nil
        } else {
            #expect(download.execute(&origin) == .interrupted)
        }
        #expect(download.part.count == row.cut)
        origin.forgetRequests()
        row.prepare(&origin)
        for outcome in row.outcomes { #expect(download.execute(&origin) == outcome, "\(download.reason)") }
        if row.outcomes.last == .published(isUnverified: false) {
            #expect(download.target == (row.publishesFile ? origin.version.bytes : SimulatedOrigin.page))
            #expect(download.stored?.counts.restarted == row.restarted)
        } else {
            #expect(download.target == nil)
            #expect(download.part.count == (row.outcomes.last == .final ? 0 : row.cut))
        }
        if let requests = row.requests { #expect(origin.requests.map(Self.text) == requests) }
    }

    static func text(_ request: DownloadRequest) -> String {
        switch request {
        case .whole: "whole"
        case .head: "head"
        case .range(let start, let ifRange): "bytes=\(start)-" + (ifRange.map { " if \($0)" } ?? "")
        }
    }
}
