import Commands
import TestSupport
import Testing

@testable import Sync

@Suite struct RecordReaderTests {
    private func read(_ text: String) -> RecordProblem? { read(Array(text.utf8)) }

    private func read(_ bytes: [UInt8]) -> RecordProblem? {
        var reader = RecordReader()
        // A slice that does not start at 0 must not matter.
        return reader.readWhole(([0x20, 0x20, 0x20] + bytes)[3...])
    }

    @Test(arguments: [
        "null", "true", "false", "0", "-0", "-1", "9223372036854775808", "1.5", "1e3", "1E+2", "-2.5e-1", "0.0", "\"\"",
        "\"é😀\"", #""\"\\\/\b\f\n\r\t""#, #""\ud83d\uDE00""#, #""\u0000""#, "\"\u{7F}\u{2028}\"", "[]", "[ ]", "[1,2]",
        "[[],{}]", "{}", "{ }", #"{"a":1,"b":[true,null]}"#, #"{"":0}"#, "{\"a\" :\t1 ,\r\n\"b\": 2}",
        #"{"a":1,"A":2}"#,
        #"{"é":1,"e\u0301":2}"#,
    ])
    func `texts that RFC 8259 allows are valid`(text: String) {
        #expect(read(text) == nil)
        #expect(throws: Never.self) { try JSONValue(parsing: Array(text.utf8)) }
    }

    /// JSONParser cannot hold these; a record keeps their bytes.
    @Test(arguments: ["1e400", "-1e999", "1e-400", String(repeating: "9", count: 500), "9007199254740993"])
    func `a number of any size is valid`(text: String) { #expect(read(text) == nil) }

    @Test(arguments: [
        "", "nul", "nulll", "True", "tru", "+1", "01", "-01", "-", "-a", "1.", ".5", "1e", "1e+", "1.e1", "0x10",
        "1_000",
        "NaN", "Infinity", "-Infinity", "\"", "\"a", "'a'", "\"\n\"", "\"\t\"", "\"\0\"", #""\x41""#, #""\u12""#,
        #""\u123g""#, #""\""#, "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "]", "{", "{\"a\"", "{\"a\":", "{\"a\":1",
        "{\"a\":1,", "{\"a\":1,}", "{,}", "{a:1}", "{\"a\" 1}", "{1:1}", "{\"a\":1 \"b\":2}", "}", "1 2", "[] []",
        "// a",
        "\u{A0}1", "{\"a\":1]", "[1}",
    ])
    func `other texts are a problem of syntax with its position`(text: String) {
        guard case .syntax(let at, let problem)? = read(text) else {
            Issue.record("“\(text)” has the problem \(String(describing: read(text)))")
            return
        }
        #expect((0...text.utf8.count).contains(at) && !problem.isEmpty)
    }

    @Test(arguments: [
        #""\ud800""#, #""\ud800x""#, #""\ud800\n""#, #""\ud800\u0041""#, #""\udc00""#, #"{"a":"\udfff"}"#,
        #"{"\ud83d":1}"#,
        #"["\ude00\ud83d"]"#,
    ])
    func `half of a surrogate pair is a problem`(text: String) {
        #expect(read(text) == .loneSurrogate)
        #expect(throws: JSONError.self) { try JSONValue(parsing: Array(text.utf8)) }
    }

    @Test func `bytes that are not UTF-8 are a problem`() {
        let broken: [[UInt8]] = [
            [0xFF], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xC3], [0xE2, 0x82], [0x80], [0xF1, 0x80, 0x80],
        ]
        for bytes in broken {
            #expect(read([0x22] + bytes + [0x22]) == .invalidUTF8)
            #expect(read([0x22] + Array("12345678".utf8) + bytes + Array("12345678\"".utf8)) == .invalidUTF8)
            #expect(read([0x7B, 0x22] + bytes + Array("\":1}".utf8)) == .invalidUTF8)
        }
        let valid: [[UInt8]] = [
            [0xC2, 0x80], [0xDF, 0xBF], [0xE0, 0xA0, 0x80], [0xED, 0x9F, 0xBF], [0xEE, 0x80, 0x80], [0xEF, 0xBF, 0xBF],
            [0xF0, 0x90, 0x80, 0x80], [0xF4, 0x8F, 0xBF, 0xBF],
        ]
        for bytes in valid { #expect(read([0x22] + bytes + [0x22]) == nil) }
    }

    @Test func `64 levels are valid, and a million brackets are refused`() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = String(repeating: open, count: 64) + "1" + String(repeating: close, count: 64)
            #expect(read(deep) == nil)
            #expect(throws: Never.self) { try JSONValue(parsing: Array(deep.utf8)) }
            let deeper = String(repeating: open, count: 65) + "1" + String(repeating: close, count: 65)
            #expect(read(deeper) == .nestedTooDeep)
            #expect(throws: JSONError.self) { try JSONValue(parsing: Array(deeper.utf8)) }
            #expect(read(String(repeating: open, count: 1_000_000)) == .nestedTooDeep)
        }
    }

    @Test(arguments: [1, 2, 15, 16, 17, 18, 40, 1000])
    func `a duplicate name is found among any number of names`(count: Int) {
        let text = "{" + (0..<count).map { "\"name \($0)\":0" }.joined(separator: ",")
        #expect(read(text + "}") == nil)
        for name in [0, count / 2, count - 1] {
            #expect(read(text + ",\"name \(name)\":0}") == .duplicateName("name \(name)"))
            #expect(read(text + ",\"n\\u0061me \(name)\":0}") == .duplicateName("name \(name)"))
        }
        #expect(read(text + ",\"name \(count)\":0}") == nil)
        // The same name in an inner and in another object is not a duplicate.
        #expect(read("[\(text),\"x\":\(text)}},\(text)}]") == nil)
    }

    @Test func `names that agree in length, start and end are told apart`() {
        let names = (0..<200).map { "12345678-\($0 + 100)-12345678" }
        let text = "{" + names.map { "\"\($0)\":0" }.joined(separator: ",")
        #expect(read(text + "}") == nil)
        #expect(read(text + ",\"\(names[77])\":0}") == .duplicateName(names[77]))
        #expect(read(#"{"":1,"a":2,"":3}"#) == .duplicateName(""))
    }

    @Test func `a record of many equal names costs no more than sorting them`() {
        let text =
            "{" + (0..<60_000).map { "\"12345678\($0 % 30_000 + 100_000)12345678\":0" }.joined(separator: ",") + "}"
        let time = ContinuousClock().measure {
            guard case .duplicateName? = read(text) else {
                Issue.record("no duplicate was found")
                return
            }
        }
        // Comparing each with each other would take 1.8 billion steps.
        #expect(time < .seconds(20))
    }

    @Test func `fields are located through objects and arrays, with escaped names and once for each pointer`() throws {
        let record = Array(#"{"x":{"\u0069d":"a","l":[0,{"k":[7]}]},"id":-1.5e3,"e":null}"#.utf8)
        let pointers = try ["/id", "/x/id", "/x/l/1/k/0", "/e", "/no", "/x/l", "/id", ""].map { try JSONPointer($0) }
        var reader = RecordReader(locating: pointers)
        for _ in 0..<2 {
            #expect(reader.readWhole(record[...]) == nil)
            let texts = reader.fields.map { $0.map { String(decoding: record[$0], as: UTF8.self) } }
            let whole = String(decoding: record, as: UTF8.self)
            #expect(texts == ["-1.5e3", "\"a\"", "7", "null", nil, #"[0,{"k":[7]}]"#, "-1.5e3", whole])
        }
        #expect(reader.readWhole(Array("{}".utf8)[...]) == nil)
        #expect(reader.fields[0] == nil && reader.fields[7] == 0..<2)
    }

    @Test func `a duplicate name beside the path of a pointer leaves its value certain, and one on the path does not`()
        throws
    {
        var reader = RecordReader(locating: [try JSONPointer("/a/id")])
        let beside = Array(#"{"a":{"id":7},"b":{"x":1,"x":2}}"#.utf8)
        #expect(reader.readWhole(beside[...]) == .duplicateName("x"))
        #expect(reader.fields[0] != nil)
        let many = (0..<20).map { "\"\($0)\":0" }.joined(separator: ",")
        for text in [
            #"{"a":{"id":7},"a":{"id":8}}"#, #"{"a":{"id":7,"id":8}}"#, "{\"a\":{\"id\":7,\(many),\"19\":0,\"id\":8}}",
        ] {
            #expect(reader.readWhole(Array(text.utf8)[...]) != nil)
            #expect(reader.fields[0] == nil)
        }
    }

    @Test func `random bytes and mutated texts are judged as the parser judges them`() {
        var random = SeededRandom.announced("record reader fuzz")
        let alphabet = Array(#"{}[]",:\u0123456789abcdefE+-. tfnrl"#.utf8) + [0x00, 0x0A, 0x7F, 0x80, 0xC3, 0xA9, 0xFF]
        for _ in RandomRounds("record reader fuzz", 5000...50_000) {
            var bytes: [UInt8] =
                switch random.number(in: 0..<3) {
                case 0: random.bytes(random.number(in: 0..<40))
                case 1: (0..<random.number(in: 0..<40)).map { _ in alphabet[random.number(in: 0..<alphabet.count)] }
                default: RandomJSON.value(depth: 4, &random).bytes
                }
            if !bytes.isEmpty, random.chance(0.5) {
                bytes[random.number(in: 0..<bytes.count)] = alphabet[random.number(in: 0..<alphabet.count)]
            }
            do throws(JSONError) {
                _ = try JSONValue(parsing: bytes)
                let trimmed = JSONValue.trimmingSpace(around: bytes)
                #expect(read(trimmed) == nil, "\(bytes)")
            } catch {
                // Numbers are not converted, so none is too large.
                if error.problem.contains("too large") { continue }
                #expect(read(JSONValue.trimmingSpace(around: bytes)) != nil, "\(error) in \(bytes)")
            }
        }
    }
}
