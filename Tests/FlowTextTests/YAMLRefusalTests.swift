import Commands
import FlowText
import Testing

@Suite struct YAMLRefusalTests {
    @Test func `a text that is not YAML is refused with its line`() {
        #expect(
            Texts.yamlRefusal("a:\n  b: 1\n c: 2\n")
                == "line 3: the text is not valid YAML: did not find expected key while parsing a block mapping that starts "
                + "in line 1")
        #expect(
            Texts.yamlRefusal("a: [1, 2\n")
                == "line 2: the text is not valid YAML: did not find expected ',' or ']' while parsing a flow sequence that "
                + "starts in line 1")
        #expect(
            Texts.yamlRefusal("a:\n\tb: 1\n")
                == "line 2: the text is not valid YAML: found character that cannot start any token while scanning for the "
                + "next token that starts in line 2; indent with spaces, not with tabs")
        #expect(
            Texts.yamlRefusal("a: \"x")
                == "line 1: the text is not valid YAML: found unexpected end of stream while scanning a quoted scalar that "
                + "starts in line 1")
        #expect(Texts.yamlRefusal("a: b: c")?.contains("mapping values are not allowed in this context") == true)
        #expect(Texts.yamlRefusal("a: 1\nb: \u{1}\n")?.hasPrefix("line 2: the text is not valid YAML: ") == true)
    }

    @Test func `bytes that are not UTF-8 are refused`() {
        for bytes: [UInt8] in [
            [0x61, 0x3A, 0x20, 0xFF], [0x61, 0x0A, 0xC3], [0xED, 0xA0, 0x80], [0x7B, 0x22, 0xFF],
        ] {
            #expect(throws: SourceError.self) { try YAMLText.parse(bytes) }
        }
    }

    @Test func `an empty text is refused`() {
        for text in ["", " \n\t\n", "\u{FEFF}", "# only a comment\n", "%YAML 1.2\n"] {
            let refusal = Texts.yamlRefusal(text)
            #expect(refusal == "the text is empty" || refusal?.contains("not valid YAML") == true, "\(text)")
        }
    }

    @Test func `a key that occurs twice is refused`() {
        #expect(Texts.yamlRefusal("a: 1\nb: 2\n\"a\": 3\n") == "line 3: the key “a” occurs twice in one mapping")
        #expect(Texts.yamlRefusal("x:\n  1: a\n  '1': b\n") == "line 3: the key “1” occurs twice in one mapping")
        let many = (0..<100).map { "k\($0): 1\n" }.joined()
        #expect(Texts.yamlRefusal(many + "k7: 2\n") == "line 101: the key “k7” occurs twice in one mapping")
    }

    @Test func `keys of different bytes are different also in a large mapping`() throws {
        let many = (0..<100).map { "k\($0): 1\n" }.joined()
        #expect(try Texts.yaml(many + "\u{E9}: 1\ne\u{301}: 2\nx: 3\n").hasSuffix(#","x":3}"#))
        #expect(
            Texts.yamlRefusal(many + "\u{E9}: 1\ne\u{301}: 2\nx: 3\ne\u{301}: 4\n")
                == "line 104: the key “e\u{301}” occurs twice in one mapping")
    }

    @Test func `a key that is not a scalar is refused`() {
        let sentence =
            "a key must be a text, not a list, a mapping or an alias; write texts with braces or “*” in quotes"
        for text in ["[a]: 1", "? {a: 1}\n: 2", "a: {{x}}", "a: &n x\n*n : 1", "? [a]\n: 2"] {
            #expect(Texts.yamlRefusal(text)?.hasSuffix(sentence) == true, "\(text)")
        }
    }

    @Test func `merge keys are refused`() throws {
        #expect(
            Texts.yamlRefusal("a: &x {b: 1}\nc:\n  <<: *x\n")
                == "line 3: “<<” is not in YAML 1.2 and is not supported; write the members out, or the key in quotes")
        #expect(try Texts.yaml("\"<<\": 1") == #"{"<<":1}"#)
    }

    @Test func `several documents are refused`() {
        #expect(
            Texts.yamlRefusal("a: 1\n---\nb: 2\n")
                == "line 2: the text has several documents; write each into its own file")
    }

    @Test func `unknown tags are refused`() {
        for (tag, shown) in [("!foo", "!foo"), ("!!binary", "!!binary"), ("!!map", "!!map"), ("!<x:y>", "x:y")] {
            #expect(
                Texts.yamlRefusal("a:\n- \(tag) x")
                    == "line 2: the tag “\(shown)” is not supported here; write the value without it")
        }
        #expect(Texts.yamlRefusal("a: !!set {b}")?.contains("“!!set”") == true)
        #expect(Texts.yamlRefusal("!foo a: 1")?.contains("“!foo”") == true)
        #expect(
            Texts.yamlRefusal("a: !!int x") == "line 1: “x” does not have the type “!!int” of its tag")
    }

    @Test func `aliases that cannot be followed are refused`() {
        #expect(Texts.yamlRefusal("a: *x") == "line 1: there is no anchor “&x” before this alias")
        #expect(Texts.yamlRefusal("a: &x\n  - *x") == "line 2: the alias “*x” stands inside of its own anchor")
        #expect(Texts.yamlRefusal("&x a: &x {b: *x}")?.contains("inside of its own anchor") == true)
    }

    @Test func `aliases that repeat too many values are refused`() {
        var text = "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...40 {
            let aliases = Array(repeating: "*l\(level - 1)", count: 10).joined(separator: ", ")
            text += "l\(level): &l\(level) [\(aliases)]\n"
        }
        let sentence = "the aliases repeat more than 100000 values; use fewer of them"
        #expect(Texts.yamlRefusal(text)?.hasSuffix(sentence) == true)
        // Inside of keys as well, which must not be hashed.
        #expect(Texts.yamlRefusal(text.replacing("l40:", with: "? *l39\n:"))?.hasSuffix(sentence) == true)
    }

    @Test func `a text that nests too deep is refused`() throws {
        let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(try Texts.yaml(deep) == deep)
        #expect(Texts.yamlRefusal("[" + deep + "]") == "line 1: nested deeper than 64")
        #expect(Texts.yamlRefusal(String(repeating: "[", count: 1_000_000)) == "line 1: nested deeper than 64")
        #expect(Texts.yamlRefusal(String(repeating: "- ", count: 100_000)) == "line 1: nested deeper than 64")
        #expect(Texts.yamlRefusal(String(repeating: "{\"a\":", count: 100))?.contains("nested deeper than 64") == true)
        let half = String(repeating: "[", count: 40)
        let close = String(repeating: "]", count: 40)
        #expect(Texts.yamlRefusal("- &a \(half)\(close)\n- \(half)*a\(close)\n") == "line 2: nested deeper than 64")
    }

    @Test func `a text that is not JSON is refused with its line`() {
        #expect(
            Texts.yamlRefusal("{\"a\": 1,\n \"b\" 2}")
                == "line 2: the text is not valid JSON: expected “:” after a name")
        #expect(
            Texts.yamlRefusal("{a: 1}")
                == "line 1: the text is not valid JSON: expected the name of a member in quotes; a text that starts with "
                + "“{” is read as JSON, and as YAML after a line “---”")
        #expect(Texts.yamlRefusal("{\"a\":1,\"a\":2}")?.contains("occurs twice") == true)
    }

    @Test func `a text that is too long is refused`() {
        let text = [UInt8](repeating: 0x20, count: (64 << 20) + 1)
        let error = #expect(throws: SourceError.self) { try YAMLText.parse(text) }
        #expect(error?.problem == "the text has 67108865 bytes, and at most 67108864 are possible")
    }
}
