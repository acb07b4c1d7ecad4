import Commands
import TestSupport
import Testing

struct JSONParserTests {
    static func parse(_ text: String) throws(JSONError) -> JSONValue { try JSONValue(parsing: Array(text.utf8)) }

    static let accepted: [(String, JSONValue)] = [
        ("null", .null), ("true", true), (" false\n", false), ("0", 0), ("-0", 0), ("-1", -1),
        ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
        ("9223372036854775808", .decimal("9223372036854775808")), ("1.5", .number(1.5)), ("1e3", .number(1000)),
        ("1E+2", .number(100)), ("-2.5e-1", .number(-0.25)), ("0.0", .number(0)), ("1e-400", .decimal("1e-400")),
        ("\"\"", ""), ("\"a\"", "a"), ("\"é😀\"", "é😀"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (#""\u0041\u00e9\u20AC""#, "Aé€"), (#""\ud83d\uDE00""#, "😀"), (#""\u0000""#, "\0"),
        ("\"\u{7F}\u{2028}\"", "\u{7F}\u{2028}"),
        ("[]", []), ("[ ]", []), ("[1,2]", [1, 2]), ("[[],{}]", [[], [:]]), ("{}", [:]), ("{ }", [:]),
        (#"{"a":1,"b":[true,null]}"#, ["a": 1, "b": [true, nil]]), (#"{"":0}"#, ["": 0]),
        (" \t\r\n{\"a\" : 1 } \n", ["a": 1]), (#"{"a":1,"A":2}"#, ["a": 1, "A": 2]),
    ]

    /// Holds for integers beyond 64 bits, and for numbers beyond the range or the digits of a `Double`.
    @Test(arguments: [
        "18446744073709551614", "-18446744073709551616", "1e400", "-1E+999", "1e-400", "0.12345678901234567890",
        "100000000000000000000000000000000000000000", "1234567890123456.25", "123456789012345678901234567890.5",
    ])
    func `a number is written as it was read`(_ text: String) throws {
        let value = try Self.parse("{\"a\":[\(text)]}")
        #expect(value.text == "{\"a\":[\(text)]}")
        #expect(value["a"]?.elements?[0].integer == nil && value["a"]?.elements?[0].kind == "a number")
    }

    @Test(arguments: [
        "0.1", "1.5", "-0.30000000000000004", "12345.6789", "1e3", "5e-300", "0.000", "1.7976931348623157e+308",
    ])
    func `a number that a Double holds is one`(_ text: String) throws {
        guard case .number(let value) = try Self.parse(text) else { throw Missed("\(text) is not a Double") }
        #expect(value == Double(text))
    }

    @Test(arguments: accepted.indices)
    func `texts that RFC 8259 allows are read`(index: Int) throws {
        let (text, value) = Self.accepted[index]
        #expect(try Self.parse(text) == value, "\(text)")
    }

    @Test(arguments: [
        "", " ", "nul", "nulll", "True", "tru", "+1", "01", "-", "-a", "1.", ".5", "1e", "1e+", "0x10", "1_000", "NaN",
        "Infinity", "-Infinity", "\"", "\"a", "'a'", "\"\n\"", "\"\t\"", "\"\0\"", #""\x41""#, #""\u12""#,
        #""\u123g""#, #""\ud800""#, #""\ud800x""#, #""\ud800\n""#, #""\ud800\u0041""#, #""\udc00""#, #""\""#, "[", "[1",
        "[1,",
        "[1,]", "[,1]", "[1 2]", "]", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{,}", "{a:1}",
        "{\"a\" 1}", "{1:1}", "{\"a\":1 \"b\":2}", "}", "1 2", "[] []", "null,", "// a\n1", "/*a*/1", "\u{FEFF}1",
        "\u{A0}1",
        #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#,
    ])
    func `other texts are refused with their position`(text: String) {
        do throws(JSONError) {
            let value = try Self.parse(text)
            Issue.record("“\(text)” was read as \(value)")
        } catch {
            #expect(!error.problem.isEmpty)
            #expect((0...text.utf8.count).contains(error.position))
        }
    }

    @Test func `bytes that are not UTF-8 are refused in strings and names`() {
        let broken: [[UInt8]] = [
            [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xC3], [0xE2, 0x82], [0x80],
        ]
        for bytes in broken {
            #expect(throws: JSONError.self) { try JSONValue(parsing: [0x22] + bytes + [0x22]) }
            #expect(throws: JSONError.self) { try JSONValue(parsing: [0x22, 0x5C, 0x6E] + bytes + [0x22]) }
            #expect(throws: JSONError.self) { try JSONValue(parsing: [0x7B, 0x22] + bytes + Array("\":1}".utf8)) }
            #expect(throws: JSONError.self) { try JSONValue(parsing: bytes) }
        }
    }

    @Test func `64 levels are read, and a million brackets are refused without a stack overflow`() throws {
        let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(throws: JSONError.self) { try Self.parse("[" + deep + "]") }
        #expect(throws: Never.self) { try Self.parse(deep) }
        for open in ["[", "{\"a\":"] {
            let error = #expect(throws: JSONError.self) { try Self.parse(String(repeating: open, count: 1_000_000)) }
            #expect(error?.problem.contains("deep") == true)
        }
    }

    @Test(arguments: [1, 2, 15, 16, 17, 18, 40])
    func `a duplicate name is found among any number of names`(count: Int) throws {
        let text = "{" + (0..<count).map { "\"\($0)\":0" }.joined(separator: ",")
        #expect(try Self.parse(text + "}").members?.count == count)
        for name in [0, count / 2, count - 1] {
            let error = #expect(throws: JSONError.self) { try Self.parse(text + ",\"\(name)\":0}") }
            #expect(error?.problem.contains("“\(name)”") == true)
            #expect(error?.position == text.utf8.count + 1)
        }
        #expect(try Self.parse(text + ",\"\(count)\":0}").members?.count == count + 1)
    }

    @Test func `names and strings that differ only in their Unicode form are different`() throws {
        let value = try Self.parse(#"{"é":1,"e\u0301":2}"#)
        #expect(value.members?.count == 2)
        #expect(value["é"] == 1)
        #expect(value["e\u{301}"] == 2)
        #expect(JSONValue.string("é") != JSONValue.string("e\u{301}"))
        let many = "{" + (0..<40).map { "\"\($0)\":0" }.joined(separator: ",") + #","é":0,"e\u0301":0}"#
        #expect(try Self.parse(many).members?.count == 42)
    }

    @Test func `an object of a hundred thousand members is read, and one with a duplicate name is refused`() throws {
        let text = "{" + (0..<100_000).map { "\"name \($0)\":\($0)" }.joined(separator: ",")
        let members = try #require(try Self.parse(text + "}").members)
        #expect(members.count == 100_000)
        #expect(members.last?.name == "name 99999" && members.last?.value == 99_999)
        let error = #expect(throws: JSONError.self) { try Self.parse(text + ",\"name 7\":0}") }
        #expect(error?.problem.contains("name 7") == true)
    }

    @Test func `an error prints its position counted from one`() {
        let error = #expect(throws: JSONError.self) { try Self.parse("[1,x]") }
        #expect(error?.description.contains("byte 4") == true, "\(String(describing: error))")
    }

    @Test func `a collection that is not contiguous is read`() throws {
        let bytes = Array("{\"a\":[1,2]}".utf8)
        #expect(try JSONValue(parsing: bytes.lazy.map { $0 }) == ["a": [1, 2]])
        #expect(try JSONValue(parsing: bytes[5..<10]) == [1, 2])
        #expect(try JSONValue(parsing: "true".utf8) == true)
    }

    @Test func `random bytes and mutated texts are read without a trap`() {
        var random = SeededRandom.announced("JSON fuzz")
        let alphabet = Array(#"{}[]",:\u0123456789abcdefE+-. tfnrl"#.utf8) + [0x00, 0x0A, 0x7F, 0x80, 0xC3, 0xFF]
        for _ in RandomRounds("JSON fuzz", 5000...50_000) {
            var bytes: [UInt8]
            switch random.number(in: 0..<3) {
            case 0: bytes = random.bytes(random.number(in: 0..<40))
            case 1:
                bytes = (0..<random.number(in: 0..<40)).map { _ in alphabet[random.number(in: 0..<alphabet.count)] }
            default:
                bytes = Array(Self.accepted[random.number(in: 0..<Self.accepted.count)].0.utf8)
                for _ in 0..<random.number(in: 1..<4) where !bytes.isEmpty {
                    bytes[random.number(in: 0..<bytes.count)] = alphabet[random.number(in: 0..<alphabet.count)]
                }
            }
            if let value = try? JSONValue(parsing: bytes) {
                // A value that was read is written as JSON that reads as an equal value.
                #expect((try? JSONValue(parsing: value.bytes)) == value)
            }
        }
    }

    @Test func `the values of an object's members are located byte for byte`() throws {
        let text = Array(#" { "a" :  [1, 2] ,"b":18446744073709551615,"c":{"d" : 1}, "e":"\u0041" } "#.utf8)
        let (value, members) = try JSONValue.locatingMembers(of: text)
        #expect(value.members?.map(\.name) == ["a", "b", "c", "e"])
        let values = members.map { String(decoding: text[$0], as: UTF8.self) }
        #expect(values == ["[1, 2]", "18446744073709551615", #"{"d" : 1}"#, #""\u0041""#])
        #expect(try JSONValue.locatingMembers(of: Array("[{\"a\":1}]".utf8)).members.isEmpty)
        #expect(throws: JSONError.self) { try JSONValue.locatingMembers(of: Array("{\"a\":1} 2".utf8)) }
    }

    @Test func `only the white space of JSON is trimmed around a text`() {
        #expect(JSONValue.trimmingSpace(around: Array(" \t\r\n{ } \n".utf8)) == Array("{ }".utf8))
        #expect(JSONValue.trimmingSpace(around: Array("\u{A0}1".utf8)) == Array("\u{A0}1".utf8))
        #expect(JSONValue.trimmingSpace(around: Array(" \n".utf8)).isEmpty)
    }
}
