import Commands
import Testing

@Suite struct NearestNameTests {
    @Test func `the nearest name differs in at most two bytes`() {
        #expect(NearestName.find("downlaod", among: ["upload", "download"]) == "download")
        #expect(NearestName.find("abc", among: ["abd", "abcd", "abc1"]) == "abd")
        #expect(NearestName.find("xyz", among: ["download"]) == nil)
        #expect(NearestName.find("", among: ["ab", "abc"]) == nil)
        #expect(NearestName.find("a", among: [String]()) == nil)
        #expect(NearestName.find(String(repeating: "a", count: 1_000_000), among: ["a"]) == nil)
    }

    @Test func `a suggestion is a question`() {
        #expect(NearestName.suggestion(for: "payloud", among: ["payload"]) == "; is it “payload”?")
        #expect(NearestName.suggestion(for: "x", among: ["payload"]) == "")
    }
}
