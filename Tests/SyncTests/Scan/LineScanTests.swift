import Commands
import Testing

@testable import Sync

@Suite struct LineScanTests {
    private static let plan: ScanPlan = {
        var plan = ScanPlan()
        plan.format = .ndjson
        plan.fields = [try? JSONPointer("/id")].compactMap(\.self)
        plan.maxRecord = 100
        return plan
    }()

    private func scan(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) -> ScanOutcome {
        let outcome = ScanOutcome(Self.plan, text)
        for chunk in [1, 2, 5, 16] {
            #expect(
                ScanOutcome(Self.plan, text, chunk: chunk) == outcome, "chunks of \(chunk)",
                sourceLocation: sourceLocation)
        }
        return outcome
    }

    @Test(arguments: [
        "{\"id\":1}\n{\"id\":2}\n", "{\"id\":1}\r\n{\"id\":2}", "\n\n {\"id\":1} \n\t\r\n{\"id\":2}\n\n",
        "\u{FEFF}{\"id\":1}\n{\"id\":2}",
    ])
    func `each line is a record, and lines of white space are skipped`(text: String) {
        let outcome = scan(text)
        #expect(outcome.problem == nil && outcome.texts == [#"{"id":1}"#, #"{"id":2}"#])
        #expect(outcome.elements.map(\.index) == [0, 1] && outcome.elements.map(\.fields) == [["1"], ["2"]])
    }

    @Test func `half of a byte order mark is a cut`() {
        var plan = Self.plan
        plan.fields = []
        for count in 1...2 {
            #expect(ScanOutcome(plan, [0xEF, 0xBB, 0xBF].prefix(count)).problem == .cut(after: count))
        }
    }

    @Test func `an empty body is an empty list`() {
        #expect(scan("").problem == nil && scan(" \n").elements.isEmpty)
    }

    @Test func `a malformed line is rejected, as its end is the line feed`() {
        let outcome = scan("{\"id\":1}\n{\"id\":\n{\"id\":[1}}\n{\"id\":2} x\n]\n{\"id\":3}\n")
        #expect(outcome.problem == nil)
        #expect(outcome.problems.map { $0 == nil } == [true, false, false, false, false, true])
    }

    @Test func `a last line that is malformed and has no line feed is a cut`() {
        let text = "{\"id\":1}\n{\"id\":"
        let outcome = scan(text)
        #expect(outcome.problem == .cut(after: text.utf8.count) && outcome.texts == [#"{"id":1}"#])
    }

    @Test func `a line beyond maxRecord is rejected and the next one read`() {
        let exact = "{\"id\":\"" + String(repeating: "x", count: 91) + "\"}"
        let larger = "{\"id\":\"" + String(repeating: "x", count: 92) + "\"}"
        for end in ["\n{\"id\":9}\n", ""] {
            let outcome = scan("\(exact)\n\(exact)\n\(larger)\(end)")
            #expect(outcome.problem == nil)
            #expect(outcome.elements.map(\.text.isEmpty) == [false, false, true] + (end.isEmpty ? [] : [false]))
        }
    }
}
