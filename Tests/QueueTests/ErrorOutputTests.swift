import Commands
import Testing

@testable import Queue

@Suite struct ErrorOutputTests {
    @Test func `the last lines are shown without control characters`() {
        let long = (1...25).map { "line \($0)" }.joined(separator: "\n")
        #expect(ErrorOutput(result: ["stderr": .string(long), "stderrBytes": 400])?.lines.count == 21)
        let short = ErrorOutput(result: ["stderr": "a\u{1B}[31m\r\nb\n", "stderrBytes": 9])
        #expect(short?.lines.first == "stderr:" && short?.lines.last == "  b")
        #expect(short?.lines.joined().contains("\u{1B}") == false)
    }

    @Test func `a result without text has no lines of it`() {
        for result in [nil, [:], ["stderr": ""], ["stderr": 1], "a"] as [JSONValue] {
            #expect(ErrorOutput(result: result) == nil)
        }
        let binary = ErrorOutput(result: ["stderr": "AAEC", "stderrEncoding": "base64", "stderrBytes": 3])
        #expect(binary?.lines == ["stderr: 3 bytes that are not text; “sluice status” has them"])
    }
}
