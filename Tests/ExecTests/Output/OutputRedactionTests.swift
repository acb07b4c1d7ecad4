import Commands
import TestSupport
import Testing

@testable import Exec

@Suite struct OutputRedactionTests {
    private func clean(_ text: String, _ secrets: [String], kept: OutputTail.Keep? = nil) -> String {
        String(decoding: OutputRedaction(secrets).clean(Array(text.utf8), kept: kept), as: UTF8.self)
    }

    @Test(
        arguments: [
            ("a hush-hush b", ["hush-hush"], "a [redacted] b"), ("hushed", ["hush"], "hushed"),
            ("redacted", ["redacted"], "[redacted]"), ("[redacted]", ["redacted"], "[[redacted]]"),
            ("", ["secret"], ""), ("secret", [""], "secret"), ("aaaaaaa", ["aaaaa"], "[redacted]"),
            ("abcdefgh", ["abcdef", "defgh"], "[redacted]"),
            ("hush-hush-long", ["hush-hush", "hush-hush-long"], "[redacted]"),
            ("line-1\nline-2\n", ["line-1\nline-2"], "[redacted]\n"),
            ("line-2 line-1", ["line-1\r\nline-2\nab"], "[redacted] [redacted]"),
        ] as [(String, [String], String)])
    func `secrets, and the lines of one, are replaced`(_ text: String, _ secrets: [String], _ shown: String) {
        #expect(clean(text, secrets) == shown)
    }

    @Test(
        arguments: [
            ("-secret and", OutputTail.Keep.tail, "[redacted] and"), ("cret and", .tail, "cret and"),
            ("ecret-secret and", .tail, "[redacted] and"), ("secret-secret", .tail, "[redacted]"),
            ("and secret-se", .head, "and [redacted]"), ("and secr", .head, "and secr"),
            ("-secret and", .head, "-secret and"),
        ] as [(String, OutputTail.Keep, String)])
    func `a part of a secret at the cut is replaced from 5 bytes on`(
        _ text: String, _ kept: OutputTail.Keep, _ shown: String
    ) {
        #expect(clean(text, ["secret-secret"], kept: kept) == shown)
        #expect(clean("x\(text)x", ["no-secret"], kept: kept) == "x\(text)x")
    }

    @Test(.timeLimit(.minutes(1))) func `many secrets, and one like its replacement, end in linear time`() {
        let count = 100_000
        #expect(
            clean(String(repeating: "redacted ", count: count), ["redacted"])
                == String(repeating: "[redacted] ", count: count))
        let text = String(repeating: "a", count: count) + "b"
        #expect(clean(text, [String(repeating: "a", count: 60_000) + "c"], kept: .tail) == text)
    }

    @Test func `strings within a value are replaced`() {
        let value: JSONValue = ["a": ["x hush-hush", 1, .null], "b": ["c": "hush-hush"]]
        #expect(
            OutputRedaction(["hush-hush"]).clean(value) == ["a": ["x [redacted]", 1, .null], "b": ["c": "[redacted]"]])
    }

    @Test func `random patterns are found as a comparison at each index finds them`() {
        var random = SeededRandom.announced("byte pattern")
        for _ in 0..<500 {
            let text = (0..<random.number(in: 0..<40)).map { _ in UInt8(random.number(in: 0..<2)) }
            let pattern = (0..<random.number(in: 1..<6)).map { _ in UInt8(random.number(in: 0..<2)) }
            let found = BytePattern(pattern).occurrences(in: text)
            let expected = text.indices.filter { text[$0...].starts(with: pattern) }
            #expect(found.ranges.map(\.lowerBound) == expected)
            let part = (0...min(pattern.count, text.count)).last { text.suffix($0).elementsEqual(pattern.prefix($0)) }
            #expect(found.partAtEnd == part)
        }
    }
}
