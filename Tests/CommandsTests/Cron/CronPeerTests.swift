import Commands
import TestSupport
import Testing

@Suite(.enabled(if: MachineZones.isInstalled, "tzdata is not installed; deploy/prepare test installs it"))
struct CronPeerTests {
    @Test(
        .enabled(
            if: isAvailable(PythonScript.has("cronsim")), "cronsim is not installed; deploy/prepare test installs it"),
        .timeLimit(.minutes(10)))
    func `cronsim computes the same next times`() async throws {
        var cases = CronCases("cronsim")
        var counts = Counts()
        // Each process of Python may run for 120 s; one part takes about 3 s.
        for _ in 0..<3 {
            var part: [Case] = []
            for _ in 0..<5_000 {
                let zone = cases.zone()
                part.append(Case(expression: cases.expression(), zone: zone, start: cases.instant(in: zone)))
            }
            let answers = try await PythonScript.lines(
                "cronsim-peer.py", needing: "cronsim", [],
                input: part.map { .array([.string($0.expression), .string($0.zone.name), .integer($0.start)]) })
            try #require(answers.count == part.count)
            for (drawn, answer) in zip(part, answers) { compare(drawn, answer, &counts) }
        }
        print("cronsim: \(counts)")
        #expect(counts.total == 15_000 && counts.errorsOfPeer < counts.total / 200)
    }

    private struct Case {
        var expression: String
        var zone: TimeZoneOffsets
        var start: Int64
    }

    private struct Counts {
        var total = 0
        var times = 0
        var corrections = 0
        var errorsOfPeer = 0
    }

    private func compare(_ drawn: Case, _ answer: String, _ counts: inout Counts) {
        counts.total += 1
        let expression = try? CronExpression(parsing: drawn.expression)
        let next = expression?.next(after: Timestamp(milliseconds: drawn.start * 1000), in: drawn.zone)
        let ours = next.map { $0.milliseconds / 1000 }
        if ours != nil { counts.times += 1 }
        // A search that takes cronsim longer than two seconds says nothing.
        if answer == "endless" {
            counts.errorsOfPeer += 1
            return
        }
        // cronsim reads an expression that never fires; this parser refuses most of them.
        if answer == ours.map({ "\($0)" }) ?? "none" || expression == nil && answer == "refused" { return }

        let theirs = Int64(answer)
        // A stretch that is repeated may begin a day before the start.
        let changes = drawn.zone.changes(
            from: drawn.start - 86_400, through: max(ours ?? drawn.start, theirs ?? drawn.start))
        // cronsim makes up for the times of a day that Pacific/Apia left out in 2011, and fires once in a stretch of
        // hours that Antarctica/Vostok repeated in 1994.
        if changes.contains(where: { abs($0.change) >= 3 * 3600 }) {
            counts.corrections += 1
            return
        }
        // cronsim errs where an interval expression meets a gap at midnight or a change by a part of an hour: it
        // returns a time that does not exist, or steps over an hour.
        let oracle = CronOracle(drawn.expression)
        // A day is enough: a rare expression may fire in decades, and a walk over all their minutes takes minutes.
        func fires(_ time: Int64) -> Bool {
            oracle.times(from: time - 86_400, before: time + 60) { drawn.zone.offset(at: $0) }.last == time
        }
        if oracle.isInterval, let ours, !changes.isEmpty, fires(ours) {
            let isEarlier = theirs.map { $0 < ours && $0 % 60 == 0 && fires($0) } ?? false
            if !isEarlier {
                counts.errorsOfPeer += 1
                return
            }
        }
        Issue.record(
            """
            “\(drawn.expression)” in \(drawn.zone.name) after \(Timestamp(milliseconds: drawn.start * 1000)): \
            \(next.map(\.description) ?? "none"), cronsim \
            \(theirs.map { Timestamp(milliseconds: $0 * 1000).description } ?? answer)
            """)
    }
}

extension TimeZoneOffsets {
    /// The segments that begin after `start` and not after `end`.
    func changes(from start: Int64, through end: Int64) -> [TimeZoneSegment] {
        var found: [TimeZoneSegment] = []
        var next = segment(at: start).end
        while next <= end, next < .max {
            found.append(segment(at: next))
            next = segment(at: next).end
        }
        return found
    }
}
