import Commands
import Testing

@testable import DoorPages

@Suite struct StoredTextTests {
    private func text(_ json: String) -> StoredText { StoredText(Array(json.utf8)) { $0 } }

    @Test func `JSON has a member a line, and its values keep their characters`() {
        let json = #"{"id":18446744073709551614,"e":1.50,"a":[1,{"b":"x, {y}: \"z\" \\"}],"n":{},"m":[ ]}"#
        #expect(
            text(json).text == """
                {
                  "id": 18446744073709551614,
                  "e": 1.50,
                  "a": [
                    1,
                    {
                      "b": "x, {y}: \\"z\\" \\\\"
                    }
                  ],
                  "n": {},
                  "m": []
                }
                """)
        #expect(text(#""text""#).text == #""text""#)
    }

    @Test func `text that is not JSON stays as it is`() {
        #expect(text("{not json").text == "{not json")
    }

    @Test func `a text is cut at its limit`() {
        let deep = String(repeating: "[", count: 40) + String(repeating: "]", count: 40)
        #expect(!text(deep).isCut && text(deep).text.hasPrefix("[\n  [\n"))
        let long = text("[" + [String](repeating: "1", count: 20_000).joined(separator: ",") + "]")
        #expect(long.isCut && long.text.utf8.count == StoredText.maxShown && long.size == 40_001)
    }
}
