import Commands
import Testing

@Suite struct PayloadTemplateTests {
    @Test func `a payload without references is plain`() throws {
        for text in ["null", "1", "\"$result\"", "[]", "{}", #"{"a":[{"b":"x"}]}"#, #"{"$other":1}"#] {
            let template = try Payloads.template(text)
            #expect(template.isPlain && !template.hasReferences && !template.usesFlow, "\(text)")
            #expect(try template.parents.isEmpty && template.withHoles == Payloads.json(text), "\(text)")
        }
    }

    @Test func `an object with other members beside a special name is data`() throws {
        for text in [
            #"{"$result":"a","x":1}"#, #"{"$result":"a","default":1,"x":2}"#, #"{"$text":["a"],"default":1}"#,
            #"{"$flow":"id","default":1}"#, #"{"$literal":1,"default":2}"#, #"{"default":1}"#, #"{"$Result":"a"}"#,
            #"{"$result":"a","$results":["b"]}"#, #"{"default":1,"x":2}"#,
        ] {
            let template = try Payloads.template(text)
            #expect(try template.isPlain && Payloads.resolve(text, [:]) == text, "\(text)")
        }
    }

    @Test func `a default may come before the reference`() throws {
        #expect(try Payloads.resolve(#"{"default":7,"$result":"a"}"#, [:]) == "7")
    }

    @Test func `parents are listed once in the order of their first use`() throws {
        let id = "01998b5e-7c2a-7000-8000-000000000001"
        let template = try Payloads.template(
            #"""
            {"x":[{"$result":"b/1"},{"$result":"a"},{"$result":"b"}],"y":{"$results":["c","a"]},
             "z":{"$results":"page-*"},"t":{"$text":["h",{"$result":"\#(id)/u"},{"$flow":"id"}]}}
            """#)
        #expect(template.parents.map(\.description) == ["b", "a", "c", "page-*", id])
        #expect(template.parents.last == .command(try #require(CommandID(id))))
        #expect(template.references.count == 8)
        #expect(template.usesFlow && template.hasReferences && !template.isPlain)
    }

    @Test func `a reference knows its location and pointer`() throws {
        let template = try Payloads.template(#"{"a/b":[0,{"~":{"$result":"n/x/0"}}]}"#)
        let reference = try #require(template.references.first)
        #expect(reference.location == "/a~1b/1/~0")
        #expect(reference.source == .node("n") && reference.pointer.text == "/x/0")
        #expect(reference.defaultValue == nil)
    }

    @Test func `a long name does not multiply a payload`() throws {
        let name = String(repeating: "ä~", count: 50_000)
        let references = Array(repeating: #"{"$result":"a"}"#, count: 1000).joined(separator: ",")
        let template = try Payloads.template(#"{"x":{"\#(name)":[\#(references)]}}"#)
        #expect(template.references.count == 1000)
        #expect(template.references.allSatisfy { (500...520).contains($0.location.utf8.count) })
        #expect(try Payloads.resolve(#"{"\#(name)":{"$result":"a"}}"#, ["a": 1]).hasSuffix("1}"))
    }

    @Test func `a name of a member is never a template`() throws {
        let text = #"{"{\"$result\":\"a\"}":1}"#
        #expect(try Payloads.template(text).isPlain)
    }

    @Test func `a literal is taken as it is`() throws {
        let text = #"{"x":{"$literal":{"$result":"a","y":{"$literal":1}}}}"#
        let template = try Payloads.template(text)
        #expect(!template.hasReferences && !template.isPlain)
        #expect(template.withHoles.text == #"{"x":{"$result":"a","y":{"$literal":1}}}"#)
        #expect(try Payloads.resolve(text, [:]) == #"{"x":{"$result":"a","y":{"$literal":1}}}"#)
    }

    @Test func `holes stand for each value that depends on a reference`() throws {
        let template = try Payloads.template(
            #"""
            {"url":{"$text":["https://h/",{"$result":"a/id"}]},"k":{"$text":["a",1,true]},
             "l":[1,{"$results":["a"]},{"$flow":"id"},{"$literal":[2]}],"d":{"$result":"a","default":3}}
            """#)
        #expect(template.withHoles.text == #"{"url":null,"k":"a1true","l":[1,null,null,[2]],"d":null}"#)
    }

    @Test func `a position tells whether it depends on a reference`() throws {
        let template = try Payloads.template(
            #"{"url":"https://h","n":{"v":[1,{"$result":"a"}],"w":[1,2]},"m":{"$literal":{"x":5}}}"#)
        func literal(_ pointer: String) throws -> JSONValue? { template.literal(at: try JSONPointer(pointer)) }
        func depends(_ pointer: String) throws -> Bool { template.dependsOnReference(at: try JSONPointer(pointer)) }
        #expect(try literal("/url") == "https://h" && !depends("/url"))
        #expect(try literal("/n/v/0") == 1 && !depends("/n/v/0"))
        #expect(try literal("/n/w") == [1, 2] && literal("/n/w/1") == 2)
        #expect(try literal("/m/x") == 5 && literal("/m/$literal") == nil)
        for pointer in ["", "/n", "/n/v", "/n/v/1", "/n/v/1/deep"] {
            #expect(try literal(pointer) == nil && depends(pointer), "\(pointer)")
        }
        for pointer in ["/none", "/url/x", "/n/v/2", "/n/v/-", "/n/w/9"] {
            #expect(try literal(pointer) == nil && !depends(pointer), "\(pointer)")
        }
    }

    @Test func `templates of equal payloads are equal`() throws {
        #expect(try Payloads.template(#"[{"$result":"a"}]"#) == Payloads.template(#"[{"$result":"a"}]"#))
        #expect(try Payloads.template(#"[{"$result":"a"}]"#) != Payloads.template(#"[{"$result":"b"}]"#))
    }
}
