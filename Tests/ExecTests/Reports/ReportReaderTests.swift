import Commands
import Host
import TestSupport
import Testing

@testable import Exec

@Suite struct ReportReaderTests {
    private let begin = MonotonicTime(nanoseconds: 1_000_000_000_000)

    /// Reads a text at once.
    private func read(_ text: String) -> (report: ProgramReport?, counts: ReportCounts) {
        var reader = ReportReader()
        reader.append(Array(text.utf8), now: begin)
        reader.finish()
        return (reader.next(now: begin, isLast: true), reader.counts)
    }

    @Test(
        arguments: [
            (#"{"progress":{"offset":1,"total":9}}"#, ProgramReport(progress: .init(offset: 1, total: 9))),
            (#" {"progress":{"offset":5}} "#, ProgramReport(progress: .init(offset: 5, total: 0))),
            (#"{"progress":{"offset":1.0}}"#, ProgramReport(progress: .init(offset: 1, total: 0))),
            (
                #"{"progress":{"offset":9007199254740992,"total":9007199254740992}}"#,
                ProgramReport(progress: .init(offset: 1 << 53, total: 1 << 53))
            ),
            (#"{"values":{"a":[1,null]}}"#, ProgramReport(values: [.init("a", [1, nil])])),
            (
                "{\"values\":{\"a\":1,\"b\":2}}\n{\"values\":{\"a\":3}}",
                ProgramReport(values: [.init("a", 3), .init("b", 2)])
            ),
            (#"{"values":{}}"#, ProgramReport()), (#"{"retryAfter":0}"#, ProgramReport(retryAfter: .zero)),
            (#"{"retryAfter":1.0001}"#, ProgramReport(retryAfter: .milliseconds(1001))),
            (#"{"retryAfter":2,"unknown":true}"#, ProgramReport(retryAfter: .seconds(2))),
        ] as [(String, ProgramReport)])
    func `a line is a report`(_ text: String, _ report: ProgramReport) {
        let result = read(text)
        #expect(result.report == report)
        #expect(result.counts == ReportCounts())
    }

    @Test(arguments: [
        "x", "[]", "1", "{}", #"{"unknown":1}"#, #"{"progress":1}"#, #"{"progress":{"offset":-1}}"#,
        #"{"progress":{"offset":9007199254740993}}"#, #"{"progress":{"offset":1,"total":8e18}}"#,
        #"{"progress":{"total":1}}"#, #"{"progress":{"offset":1,"total":-1}}"#, #"{"values":[]}"#,
        #"{"retryAfter":-1}"#, #"{"retryAfter":604801}"#, #"{"retryAfter":"1"}"#, #"{"values":{"a":1}"#,
        #"{"progress":{"offset":1},"retryAfter":-1}"#, "\u{0}", #"{"values":{"a":1},"values":{}}"#,
    ])
    func `a line that is not a report is counted and has no effect`(_ text: String) {
        let result = read(text)
        #expect(result.report == nil)
        #expect(result.counts == ReportCounts(garbageLines: 1))
    }

    @Test func `blank lines are not counted`() {
        #expect(read("\n \n\r\n\t\n").counts == ReportCounts())
    }

    @Test func `chunks of any size are the same reports`() {
        var random = SeededRandom.announced("report chunks")
        let text = "{\"values\":{\"a\":1}}\n\ngarbage\n{\"progress\":{\"offset\":7}}\n{\"retryAfter\":1}"
        let whole = read(text)
        for _ in 0..<200 {
            var reader = ReportReader()
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                let count = random.number(in: 1..<9)
                reader.append(rest.prefix(count), now: begin)
                rest = rest.dropFirst(count)
            }
            reader.finish()
            #expect(reader.next(now: begin, isLast: true) == whole.report)
            #expect(reader.counts == whole.counts)
        }
    }

    @Test func `reports are passed on four times a second, and the last one always`() {
        var reader = ReportReader()
        var passed: [Int64] = []
        for step in 0..<100 {
            let now = begin + .milliseconds(step * 10)
            reader.append(Array("{\"progress\":{\"offset\":\(step)}}\n".utf8), now: now)
            if let report = reader.next(now: now) { passed.append(report.progress?.offset ?? -1) }
        }
        #expect(passed == [0, 25, 50, 75])
        #expect(reader.due == begin + .seconds(1))
        let end = begin + .milliseconds(990)
        #expect(reader.next(now: end) == nil)
        #expect(reader.next(now: end, isLast: true)?.progress?.offset == 99)
        #expect(reader.next(now: end, isLast: true) == nil)
        #expect(reader.due == nil)
    }

    @Test func `bytes beyond the limit of an interval are skipped to the end of their line`() {
        var reader = ReportReader()
        let line = Array("{\"progress\":{\"offset\":1}}\n".utf8)
        for _ in 0..<10_000 { reader.append(line, now: begin) }
        let counted = reader.counts.skippedBytes
        #expect((180_000...200_000).contains(counted))
        #expect(reader.counts.garbageLines == 0)
        reader.append(Array("{\"retryAfter\":3}\n".utf8), now: begin + .milliseconds(250))
        #expect(reader.next(now: begin + .seconds(1))?.retryAfter == .seconds(3))
        #expect(reader.counts.skippedBytes == counted)
    }

    @Test func `a line of 64 KiB is read, and a longer one is skipped`() {
        let longest = ReportReader.limit - 1
        for (size, isRead) in [(longest, true), (longest + 1, false), (1 << 20, false)] {
            let head = #"{"retryAfter":1,"x":""#
            let result = read(head + String(repeating: "x", count: size - head.utf8.count - 2) + "\"}")
            #expect((result.report != nil) == isRead)
            #expect(result.counts.skippedBytes == (isRead ? 0 : Int64(size)))
        }
    }

    @Test func `values are bounded in number and size, and can be replaced`() {
        var reader = ReportReader()
        var now = begin
        for index in 0..<300 {
            now += .seconds(1)
            reader.append(Array("{\"values\":{\"v\(index)\":1}}\n".utf8), now: now)
        }
        #expect(reader.counts.skippedValues == 44)
        let large = String(repeating: "x", count: 40_000)
        for name in ["v0", "v0", "v1"] {
            now += .seconds(1)
            reader.append(Array("{\"values\":{\"\(name)\":\"\(large)\"}}\n".utf8), now: now)
        }
        let values = reader.next(now: now, isLast: true)?.values ?? []
        #expect(values.count == 256)
        #expect(values[0] == .init("v0", .string(large)))
        #expect(values[1] == .init("v1", 1))
        #expect(reader.counts.skippedValues == 45)
    }

    @Test func `random bytes never trap`() {
        var random = SeededRandom.announced("report fuzz")
        let words = [
            "{", "}", "\"values\"", ":", "\"progress\"", "1e999", "-", "\n", "\u{0}", "[", "\"offset\"", "null", "é",
        ]
        for _ in 0..<300 {
            var reader = ReportReader()
            var now = begin
            for _ in 0..<random.number(in: 0..<40) {
                now += .milliseconds(random.number(in: 0..<100))
                let word = words[random.number(in: 0..<words.count)]
                reader.append(random.chance(0.2) ? random.bytes(9) : Array(word.utf8), now: now)
                _ = reader.next(now: now)
            }
            reader.finish()
        }
    }
}
