import Commands
import TestSupport
import Testing

@testable import Sync

/// The keys of operations.md, section 5.4.
@Suite struct RecordKeyTests {
    private func key(_ values: String?...) throws(RecordKey.PartProblem) -> String {
        try RecordKey(values.map { $0.map { Array($0.utf8)[...] } }).text
    }

    private func problem(_ values: String?...) -> RecordKey.PartProblem? {
        do throws(RecordKey.PartProblem) {
            _ = try RecordKey(values.map { $0.map { Array($0.utf8)[...] } })
            return nil
        } catch {
            return error
        }
    }

    @Test func `1 and 1_0 and the text 1 are three keys`() throws {
        #expect(try key("1") == "n:1")
        #expect(try key("1.0") == "n:1.0")
        #expect(try key("\"1\"") == "s:1")
        #expect(try key("\"n:1\"") == "s:n:1")
    }

    @Test(arguments: [
        "18446744073709551616", "-12345678901234567890123", "1e400", "9007199254740993", "-0", "1E+2", "0.10",
    ])
    func `a number is a key by its exact text`(text: String) throws { #expect(try key(text) == "n:\(text)") }

    @Test func `an escaped text is the same key as the plain one`() throws {
        #expect(try key(#""a\u0062\/\"\n\ud83d\ude00""#) == "s:ab/\"\n😀")
        #expect(try key("\"ab/\\\"\\n😀\"") == "s:ab/\"\n😀")
    }

    static let unsuitable: [(String?, KeyProblem)] = [
        (nil, .missing), ("null", .unsuitable("null")), ("true", .unsuitable("a boolean")),
        ("false", .unsuitable("a boolean")),
        ("{}", .unsuitable("an object")), (#"{"id":1}"#, .unsuitable("an object")), ("[1]", .unsuitable("an array")),
        ("\"\"", .empty),
        (#""\u0000""#, .containsNUL), (#""a\u0000b""#, .containsNUL),
        ("\"" + String(repeating: "x", count: 1025) + "\"", .tooLong),
        ("\"" + String(repeating: "é", count: 513) + "\"", .tooLong),
        ("\"" + String(repeating: #"\u0061"#, count: 1025) + "\"", .tooLong),
        ("\"" + String(repeating: "x", count: 100_000) + "\"", .tooLong),
        (String(repeating: "9", count: 1025), .tooLong),
    ]

    @Test(arguments: unsuitable.indices)
    func `a value that cannot be a key is a problem with a reason`(index: Int) {
        let (value, problem) = Self.unsuitable[index]
        #expect(self.problem(value) == RecordKey.PartProblem(part: 0, problem: problem))
        #expect(self.problem("1", value) == RecordKey.PartProblem(part: 1, problem: problem))
        #expect(!problem.reason.isEmpty)
    }

    @Test func `a key of 1 KiB is not too long`() throws {
        #expect(try key("\"" + String(repeating: "x", count: 1024) + "\"").utf8.count == 1026)
        #expect(try key("\"" + String(repeating: #"\u0061"#, count: 1024) + "\"").utf8.count == 1026)
        #expect(try key(String(repeating: "9", count: 1024)).utf8.count == 1026)
        let half = "\"" + String(repeating: "x", count: 512) + "\""
        #expect(try key(half, half).utf8.count == 1029)
        #expect(problem(half, half, "1")?.problem == .tooLong)
    }

    @Test func `different lists of values are different keys`() throws {
        #expect(try key("1", "\"a\"") == "n:1\u{1F}s:a")
        let unit = #""\u001f""#
        let lists: [[String]] = [
            ["\"a\"", "\"b\""], [#""a\u001fs:b""#], [#""a\u001f""#, "\"b\""], ["\"a\"", #""\u001fb""#], [unit, unit],
            [#""\u001f\u001f""#],
            [unit, unit, unit], [#""\u001fs:\u001f""#, unit], [unit, #""s:\u001f\u001f""#], ["1", "2"], ["\"1\"", "2"],
            ["12"],
        ]
        // Every key of a collection has the same number of values.
        for count in 1...3 {
            let lists = lists.filter { $0.count == count }
            let keys = try lists.map { try RecordKey($0.map { Array($0.utf8)[...] }).text }
            #expect(Set(keys).count == lists.count)
        }
    }

    @Test func `random lists of values never share a key`() throws {
        var random = SeededRandom.announced("record key fuzz")
        let parts = ["s", "n", ":", "\u{1F}", "1"]
        var seen: [String: [String]] = [:]
        for _ in RandomRounds("record key fuzz", 2000...20_000) {
            let values = (0..<random.number(in: 1..<4)).map { _ in
                let text = (0..<random.number(in: 1..<5)).map { _ in parts[random.number(in: 0..<parts.count)] }
                    .joined()
                return random.chance(0.2) ? "1" : JSONValue.string(text).text
            }
            let key = try RecordKey(values.map { Array($0.utf8)[...] }).text
            // A single text is not joined, and every collection has keys of one length only.
            let name = "\(values.count) \(key)"
            #expect(seen[name] == nil || seen[name] == values, "\(key.debugDescription)")
            seen[name] = values
        }
    }
}
