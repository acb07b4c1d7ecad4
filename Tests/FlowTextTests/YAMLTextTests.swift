import Commands
import FlowText
import Testing

@Suite struct YAMLTextTests {
    @Test func `plain scalars have the types of the core schema`() throws {
        for (scalar, expected) in [
            ("null", "null"), ("Null", "null"), ("NULL", "null"), ("~", "null"), ("", "null"), ("nUll", #""nUll""#),
            ("true", "true"), ("True", "true"), ("TRUE", "true"), ("false", "false"), ("tRue", #""tRue""#),
            ("no", #""no""#), ("on", #""on""#), ("y", #""y""#), ("off", #""off""#),
            ("0", "0"), ("007", "7"), ("-12", "-12"), ("+5", "5"), ("9223372036854775807", "9223372036854775807"),
            ("9223372036854775808", "9223372036854775808"), ("1e400", "1e400"), ("0o17", "15"), ("0xFf", "255"),
            ("0o8", #""0o8""#),
            ("0xFFFFFFFFFFFFFFFF", "1.8446744073709552e+19"), ("-0x1", #""-0x1""#), ("0x", #""0x""#),
            ("0b1", #""0b1""#),
            ("1.5", "1.5"), ("1.", "1.0"), (".5", "0.5"), ("-1e3", "-1000.0"), ("1E-2", "0.01"), ("1e", #""1e""#),
            ("1_000", #""1_000""#), (".", #"".""#), ("+", #""+""#), ("1.2.3", #""1.2.3""#),
            ("2026-01-01", #""2026-01-01""#), ("1:30", #""1:30""#), ("10m", #""10m""#), ("=", #""=""#),
            ("'1'", #""1""#), ("\"true\"", #""true""#), ("'~'", #""~""#), ("\"\\u00e4\\n\"", #""ä\n""#),
            ("!!str 1", #""1""#), ("!!int \"1\"", "1"), ("!!float 1", "1.0"), ("!!null ''", "null"),
            ("!!bool true", "true"),
        ] {
            #expect(try Texts.yaml("a: \(scalar)") == #"{"a":\#(expected)}"#, "\(scalar)")
        }
    }

    @Test func `a number that JSON does not have is refused`() {
        for scalar in [".inf", "-.INF", "+.Inf", ".nan", ".NaN"] {
            #expect(
                Texts.yamlRefusal("\na: \(scalar)")
                    == "line 2: JSON has no number for “\(scalar)”; write it in quotes to have the text")
        }
    }

    @Test(arguments: ["1e400", "-1e400", String(repeating: "9", count: 400), "18446744073709551614"])
    func `a number of any size is kept as its text`(_ number: String) throws {
        #expect(try Texts.yaml("a: \(number)") == #"{"a":\#(number)}"#)
    }

    @Test func `block and flow styles give the same value`() throws {
        let value = #"{"a":[1,{"b":"x y"},[]],"c":{"d":"two\nlines\n","e":{}}}"#
        #expect(try Texts.yaml("a:\n- 1\n- b: x y\n- []\nc:\n  d: |\n    two\n    lines\n  e: {}\n") == value)
        #expect(
            try Texts.yaml("# comment\n--- \na: [1, {b: x y}, []]\nc: {d: \"two\\nlines\\n\", e: {}}\n...\n") == value)
        #expect(try Texts.yaml("\u{FEFF}a: 1") == #"{"a":1}"#)
        #expect(try Texts.yaml("- >\n  folded\n  text\n- |-\n  x\n") == #"["folded text\n","x"]"#)
    }

    @Test func `a scalar key is its text`() throws {
        #expect(
            try Texts.yaml("1: a\nnull: b\ntrue: c\n'': d\n0x1: e\n? x\n: f\n")
                == #"{"1":"a","null":"b","true":"c","":"d","0x1":"e","x":"f"}"#)
    }

    @Test func `an alias repeats the value of its anchor`() throws {
        #expect(
            try Texts.yaml("a: &x {p: [1, 2]}\nb: *x\nc: [*x, &x 3, *x]\n")
                == #"{"a":{"p":[1,2]},"b":{"p":[1,2]},"c":[{"p":[1,2]},3,3]}"#)
        #expect(try Texts.yaml("&k key: v\nb: *k\n") == #"{"key":"v","b":"key"}"#)
    }

    @Test func `each value has its position`() throws {
        let text = "a: 1\nb:\n  - x\n  - {c: ä, d: 2}\n  - &n [5]\ne: *n\n"
        let value = try YAMLText.parse(Array(text.utf8))
        func at(_ pointer: String) throws -> [Int]? {
            value.at(try JSONPointer(pointer)).map { [$0.position.line, $0.position.column] }
        }
        #expect(try at("") == [1, 1] && at("/a") == [1, 4])
        #expect(try at("/b") == [3, 3] && at("/b/0") == [3, 5] && at("/b/1") == [4, 5])
        #expect(try at("/b/1/c") == [4, 9] && at("/b/1/d") == [4, 15] && at("/b/2/0") == [5, 9])
        #expect(try at("/e") == [6, 4] && at("/e/0") == [5, 9])
        #expect(try at("/none") == nil && at("/b/3") == nil && at("/a/x") == nil)
        #expect(value.members?.map(\.position.line) == [1, 2, 6])
    }

    @Test func `a configuration keeps the texts of its scalars`() throws {
        func texts(_ text: String) throws -> [String?]? {
            try YAMLText.parseConfiguration(Array("a: [\(text)]".utf8))?.members?.first?.value.elements?.map(\.text)
        }
        for text in ["0123", "1.50", "1e3", "0x1F", "TRUE", "null", "+5", "plain", "18446744073709551616", "1.0"] {
            #expect(try texts("\(text), '\(text)', \"\(text)\", &n \(text), *n") == Array(repeating: text, count: 5))
        }
        #expect(try texts("~, '', \"\", !!null '', '~', \"a\\tb\", 'it''s'") == ["", "", "", "", "~", "a\tb", "it's"])
        #expect(try texts("[1], {b: 1}") == [nil, nil])
        let aliases = try YAMLText.parseConfiguration(Array("a: &x {p: [01, 2]}\nb: 03\nc: *x\n".utf8))
        let repeated = try aliases?.at(JSONPointer("/c/p"))?.elements?.map(\.text)
        #expect(repeated == ["01", "2"])
        #expect(try aliases?.at(JSONPointer("/b"))?.text == "03")
        // A text that is not a configuration has those of its values.
        #expect(try YAMLText.parse(Array("[01, 1.50, x, ~]".utf8)).elements?.map(\.text) == ["1", "1.5", "x", ""])
    }

    @Test func `a configuration is YAML also in braces, and may have no value`() throws {
        let flow = try YAMLText.parseConfiguration(Array("{a: 1, # one\n b: [x]}\n".utf8))
        #expect(flow?.value.text == #"{"a":1,"b":["x"]}"#)
        #expect(try flow?.at(JSONPointer("/b"))?.position.line == 2)
        for text in ["", " \n", "\u{FEFF}", "# only a comment\n", "---\n", "~"] {
            #expect(try YAMLText.parseConfiguration(Array(text.utf8)) == nil, "\(text)")
        }
        let error = #expect(throws: SourceError.self) { try YAMLText.parseConfiguration(Array("{a: 1,\n a: 2}".utf8)) }
        #expect(error?.position == SourcePosition(line: 2, column: 2))
        #expect(error?.problem == "the key “a” occurs twice in one mapping")
    }

    @Test func `JSON has positions too`() throws {
        let text = "\u{FEFF} {\"a\" : [1, \"x\\\"]\",\n  {\"ä\":null, \"d\":[] }],\n\"e\":{}, \"f\" :-1.5e3}\n"
        let value = try YAMLText.parse(Array(text.utf8))
        func at(_ pointer: String) throws -> [Int]? {
            value.at(try JSONPointer(pointer)).map { [$0.position.line, $0.position.column] }
        }
        #expect(try at("") == [1, 2] && at("/a") == [1, 9] && at("/a/0") == [1, 10] && at("/a/1") == [1, 13])
        #expect(try at("/a/2") == [2, 3] && at("/a/2/ä") == [2, 8] && at("/a/2/d") == [2, 18])
        #expect(try at("/e") == [3, 5] && at("/f") == [3, 14])
    }

    @Test func `the same values are read from JSON as from YAML`() throws {
        let json = #"{"a":[1,2.5,"x",null,true,{"b":[]}],"c":"é \n"}"#
        #expect(try Texts.yaml(json) == json)
        #expect(try Texts.yaml("---\n" + json) == json)
    }
}
