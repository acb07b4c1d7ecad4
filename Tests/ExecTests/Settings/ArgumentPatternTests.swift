import TestSupport
import Testing

@testable import Exec

@Suite struct ArgumentPatternTests {
    @Test(arguments: [
        ("-i", "-i", true), ("-i", "-v", false), ("/in/*", "/in/a", true), ("/in/*", "/in/a/b", true),
        ("/in/*", "/inner", false), ("/in/*", "/in/../etc/passwd", false), ("*", "..", false), ("*", "a..b", true),
        ("*", "", true), ("", "", true), ("?", "", false), ("?", "é", true), ("a*b*c", "aXbYbc", true),
        ("a*b*c", "aXbY", false), ("*", "-rf", false), ("?rf", "-rf", false), ("-*", "-rf", true),
        ("--size=*", "--size=640", true),
        ("*.png", "a.png", true), ("*.png", "a.png\0", false), ("*.png", "a.PNG", false), ("[a]", "a", false),
        ("[a]", "[a]", true), ("**", "x", true), ("*", "a\nb", true),
    ])
    func `a pattern matches as documented`(_ pattern: String, _ argument: String, _ matches: Bool) {
        #expect(ArgumentPattern(text: pattern).matches(argument) == matches)
    }

    @Test func `random patterns match as a recursive definition says`() {
        var random = SeededRandom.announced("argument patterns")
        func text(_ letters: [Character]) -> String {
            String((0..<random.number(in: 0..<9)).map { _ in letters[random.number(in: 0..<letters.count)] })
        }
        func matches(_ pattern: Substring, _ text: Substring) -> Bool {
            guard let first = pattern.first else { return text.isEmpty }
            if first == "*" {
                return matches(pattern.dropFirst(), text) || !text.isEmpty && matches(pattern, text.dropFirst())
            }
            guard let letter = text.first, first == "?" || first == letter else { return false }
            return matches(pattern.dropFirst(), text.dropFirst())
        }
        for _ in RandomRounds("argument patterns", 500...5000) {
            let (pattern, argument) = (text(["a", "b", "*", "?"]), text(["a", "b"]))
            #expect(ArgumentPattern(text: pattern).matches(argument) == matches(pattern[...], argument[...]))
        }
    }

    @Test func `a hostile pattern takes no time`() {
        let pattern = ArgumentPattern(text: String(repeating: "*a", count: 127) + "b")
        let began = ContinuousClock.now
        #expect(!pattern.matches(String(repeating: "a", count: 4096)))
        #expect(!pattern.matches(String(repeating: "a", count: 100_000)))
        #expect(ContinuousClock.now - began < .seconds(5))
    }
}
