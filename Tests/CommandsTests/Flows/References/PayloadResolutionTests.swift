import Commands
import Testing

@Suite struct PayloadResolutionTests {
    private static let results: [String: JSONValue] = [
        "download": ["path": "/tmp/x", "list": [10, 20], "a/b": ["~": "tilde"], "": "empty", "none": nil],
        "new": ["id": 42, "ok": true, "part": .number(2.5), "tags": ["a"]],
        "page-1": 1, "page-2": ["n": 2], "page-10": "ten", "nothing": nil,
        "01998b5e-7c2a-7000-8000-000000000001": "by id",
        "id": "01998b5e-7c2a-7000-8000-0000000000ff", "failed": 3,
    ]

    @Test func `references become values`() throws {
        for (payload, expected) in [
            (#"{"$result":"download/path"}"#, #""/tmp/x""#),
            (#"{"f":[{"$result":"download/list/1"}]}"#, #"{"f":[20]}"#),
            (#"{"$result":"download/a~1b/~0"}"#, #""tilde""#),
            (#"{"$result":"download/"}"#, #""empty""#),
            (#"{"$result":"download/none"}"#, "null"),
            (#"{"$result":"nothing"}"#, "null"),
            (#"{"x":{"$result":"new"}}"#, #"{"x":{"id":42,"ok":true,"part":2.5,"tags":["a"]}}"#),
            (#"{"$result":"01998B5E-7C2A-7000-8000-000000000001"}"#, #""by id""#),
            (#"{"$results":["page-2","page-1"]}"#, #"[{"n":2},1]"#),
            (#"{"$results":[]}"#, "[]"),
            (
                #"{"$text":["https://h/",{"$result":"new/id"},"?ok=",{"$result":"new/ok"},1,2.5,false]}"#,
                #""https://h/42?ok=true12.5false""#
            ),
            (#"{"$text":[{"$result":"new/part"}]}"#, #""2.5""#),
            (#"{"$text":[]}"#, #""""#),
            (#"{"$flow":"failed"}"#, "3"),
            (#"{"$text":["flow ",{"$flow":"id"}]}"#, #""flow 01998b5e-7c2a-7000-8000-0000000000ff""#),
        ] {
            #expect(try Payloads.resolve(payload, Self.results) == expected, "\(payload)")
        }
    }

    @Test func `a pattern gives the results in the order of the nodes`() throws {
        let nodes = ["page-2", "other", "page-10", "page-1", "Page-3"]
        #expect(try Payloads.resolve(#"{"$results":"page-*"}"#, nodes: nodes, Self.results) == #"[{"n":2},"ten",1]"#)
        #expect(try Payloads.resolve(#"{"$results":"page-1*"}"#, nodes: nodes, Self.results) == #"["ten",1]"#)
        #expect(
            try Payloads.failure(#"{"p":{"$results":"x-*"}}"#, nodes: nodes, Self.results)
                == "payload, “/p”: no node has a name that starts with “x-”, to which the payload refers")
    }

    @Test func `a pattern among 100,000 nodes is found at once`() throws {
        let nodes = (0..<100_000).map { "n\($0)" }
        let patterns = (1000..<3000).map { #"{"$results":"n\#($0)1*"}"# }.joined(separator: ",")
        let template = try Payloads.template("[\(patterns)]")
        let value = try template.resolved(nodes: nodes) { (_) -> JSONValue? in 1 }
        #expect(value.elements?.count == 2000 && value.elements?.first == [1])
    }

    @Test func `a default stands in for a missing result or part`() throws {
        for (payload, expected) in [
            (#"{"$result":"gone","default":{"$result":"new"}}"#, #"{"$result":"new"}"#),
            (#"{"$result":"new/none","default":null}"#, "null"),
            (#"{"$result":"download/none","default":1}"#, "null"),
            (#"{"$result":"download/list/2","default":1}"#, "1"),
            (#"{"$results":["page-1","gone"],"default":0}"#, "[1,0]"),
            (#"{"$text":["n=",{"$result":"gone","default":"-"}]}"#, #""n=-""#),
        ] {
            #expect(try Payloads.resolve(payload, Self.results) == expected, "\(payload)")
        }
    }

    @Test func `a missing result or part is named`() throws {
        #expect(
            try Payloads.failure(#"{"file":{"$result":"gone/path"}}"#, Self.results)
                == "payload, “/file”: the result of “gone” is missing, and the payload refers to it; give the reference a "
                + "“default”")
        for pointer in ["/none", "/list/2", "/list/-", "/list/01", "/path/x", "/none/x"] where pointer != "/none" {
            #expect(
                try Payloads.failure(#"{"$result":"download\#(pointer)"}"#, Self.results)
                    == "payload: the result of “download” has no “\(pointer)”, which the payload refers to; correct it, or "
                    + "give the reference a “default”", "\(pointer)")
        }
        #expect(
            try Payloads.failure(#"{"$flow":"nodes"}"#, Self.results) == "payload: “nodes” of the flow is not known")
    }

    @Test func `a text joins scalars only`() throws {
        for (pointer, kind) in [("/tags", "an array"), ("", "an object")] {
            #expect(
                try Payloads.failure(#"{"u":{"$text":["h",{"$result":"new\#(pointer)"}]}}"#, Self.results)
                    == "payload, “/u/1”: the result of “new”\(pointer.isEmpty ? "" : " at “\(pointer)”") is \(kind), and "
                    + "“$text” joins only strings, numbers and booleans")
        }
        #expect(
            try Payloads.failure(#"{"$text":[{"$result":"nothing"}]}"#, Self.results)
                == "payload, “/0”: the result of “nothing” is null, and “$text” joins only strings, numbers and booleans"
        )
    }

    @Test func `a resolved value is not searched for references`() throws {
        let results: [String: JSONValue] = ["a": ["$result": "secret"], "secret": "x"]
        #expect(try Payloads.resolve(#"[{"$result":"a"}]"#, results) == #"[{"$result":"secret"}]"#)
        #expect(try Payloads.resolve(#"{"$results":["a"]}"#, results) == #"[{"$result":"secret"}]"#)
    }

    @Test func `each source is read once`() throws {
        let template = try Payloads.template(#"[{"$result":"a"},{"$result":"a/x"},{"$results":["a","b","a"]}]"#)
        var read: [String] = []
        let value = try template.resolved { (source) -> JSONValue? in
            read.append(source.description)
            return ["x": 1]
        }
        #expect(read == ["a", "b"] && value.elements?.count == 3)
    }

    @Test func `the size of the resolved payload is exact`() throws {
        let results: [String: JSONValue] = [
            "a": [
                "t": "quote \" back \\ line \n tab \t bell \u{7} ä €", "n": [1, -2, .number(2.5), nil, true, false],
            ], "e": [],
        ]
        for payload in [
            #"{"x":{"$result":"a"},"k\"":[{"$result":"e"},{},[]]}"#, #"{"$results":["a","e","a"]}"#,
            #"{"$results":"*"}"#, #"{"$text":["\"",{"$result":"a/n/1"}]}"#, #"[{"$literal":{"b":[{}]}}]"#,
        ] {
            let size = try Payloads.resolve(payload, nodes: ["a", "e"], results).utf8.count
            #expect(try Payloads.failure(payload, nodes: ["a", "e"], maxBytes: size, results) == nil, "\(payload)")
            let failure = try Payloads.failure(payload, nodes: ["a", "e"], maxBytes: size - 1, results)
            #expect(
                failure?.hasSuffix(
                    "the payload has more than \(size - 1) bytes with the results that it refers to; pass a path or a URL "
                        + "instead of the data") == true, "\(payload)")
        }
    }

    @Test func `many small references to a large result end at the limit`() throws {
        let large = JSONValue.string(String(repeating: "x", count: 60_000))
        let names = (0..<10_000).map { "\"n\($0)\"" }.joined(separator: ",")
        let template = try Payloads.template("{\"$results\":[\(names)]}")
        var reads = 0
        #expect(throws: PayloadResolutionError<Never>.self) {
            try template.resolved { _ -> JSONValue? in
                reads += 1
                return large
            }
        }
        #expect(reads < 20)
    }

    @Test func `a result that nests too deep is refused`() throws {
        var deep: JSONValue = 1
        for _ in 0..<63 { deep = [deep] }
        #expect(try Payloads.failure(#"[{"$result":"a"}]"#, ["a": deep]) == nil)
        #expect(
            try Payloads.failure(#"[[{"$result":"a"}]]"#, ["a": deep])
                == "payload, “/0/0”: the payload is nested deeper than 64 with the results that it refers to; refer to a "
                + "part of the result")
    }

    @Test func `an error of the source is passed on`() throws {
        struct Unreadable: Error, Equatable {}
        let template = try Payloads.template(#"{"$result":"a"}"#)
        let error = #expect(throws: PayloadResolutionError<Unreadable>.self) {
            try template.resolved { (_) throws(Unreadable) -> JSONValue? in throw Unreadable() }
        }
        #expect(error == .source(Unreadable()))
    }

    @Test func `a plain payload is not measured`() throws {
        #expect(try Payloads.resolve(#"["abc"]"#, maxBytes: 0, [:]) == #"["abc"]"#)
    }
}
