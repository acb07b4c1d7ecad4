import Commands
import Testing

@Suite struct PayloadReferenceErrorTests {
    private static func refusal(_ text: String) throws -> String? {
        let value = try Payloads.json(text)
        return #expect(throws: PayloadReferenceError.self) { try PayloadTemplate(value) }?.description
    }

    private static let literal = #"; write {"$literal": …} around an object that is not a reference"#

    @Test func `a malformed result reference is refused`() throws {
        #expect(
            try Self.refusal(#"{"a":{"$result":5}}"#)
                == "payload, “/a”: “$result” must be a string, not a number" + Self.literal)
        for name in ["", "/x", "a b", "ä", "a*"] {
            #expect(
                try Self.refusal(#"{"$result":"\#(name)"}"#)
                    == "payload: “$result” is “\(name)” and must start with the name of a node; write a part of its "
                    + "result as “download/path”")
        }
        #expect(
            try Self.refusal(#"[{"$result":"a/~2"}]"#)
                == "payload, “/0”: “$result” is “a/~2”: “/~2” is not a JSON Pointer: a ~ must be written ~0, and a slash "
                + "within a name ~1")
    }

    @Test func `a malformed list of results is refused`() throws {
        for text in ["page", "", "a*b*", "*a", "a/b*"] {
            #expect(
                try Self.refusal(#"{"$results":"\#(text)"}"#)
                    == "payload: “$results” is “\(text)” and must be a list of names, or the start of names with “*” at its "
                    + "end")
        }
        #expect(
            try Self.refusal(#"{"$results":["a",null]}"#)
                == "payload: “$results” lists null; each element must be the name of a node")
        #expect(
            try Self.refusal(#"{"$results":["a/x"]}"#)
                == "payload: “$results” lists “a/x”, which is not the name of a node")
        #expect(
            try Self.refusal(#"{"$results":{}}"#)
                == "payload: “$results” must be a list of names or a string, not an object" + Self.literal)
    }

    @Test func `an unknown fact about the flow is refused`() throws {
        let known = "“id”, “status”, “failed”, “name”, “nodes”"
        #expect(try Self.refusal(#"{"$flow":"uuid"}"#) == "payload: “$flow” is “uuid” and must be one of \(known)")
        #expect(
            try Self.refusal(#"{"$flow":[]}"#) == "payload: “$flow” must be one of \(known), not an array"
                + Self.literal)
    }

    @Test func `a text of other values than scalars is refused`() throws {
        #expect(
            try Self.refusal(#"{"$text":"a"}"#)
                == "payload: “$text” must be a list of texts and references, not a string" + Self.literal)
        for (element, kind) in [
            ("null", "null"), ("[]", "an array"), ("{}", "an object"), (#"{"$results":["a"]}"#, "an object"),
            (#"{"$text":["a"]}"#, "an object"), (#"{"$result":"a","x":1}"#, "an object"),
        ] {
            #expect(
                try Self.refusal(#"{"u":{"$text":["h",\#(element)]}}"#)
                    == "payload, “/u/1”: “$text” joins strings, numbers, booleans, “$result” and “$flow”, not \(kind)")
        }
    }

    @Test func `a payload made in code is refused beyond 64 levels`() throws {
        var value: JSONValue = 1
        for _ in 0..<64 { value = [value] }
        #expect(try PayloadTemplate(value).isPlain)
        let deeper: JSONValue = [value]
        let error = #expect(throws: PayloadReferenceError.self) { try PayloadTemplate(deeper) }
        #expect(error?.problem == "nested deeper than 64")
        let reference: JSONValue = ["$result": "a"]
        var nested = reference
        for _ in 0..<64 { nested = ["x": nested] }
        #expect(try PayloadTemplate(nested).hasReferences)
    }
}
