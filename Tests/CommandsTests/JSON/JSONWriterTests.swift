import Commands
import TestSupport
import Testing

struct JSONWriterTests {
    /// A random value of at most `depth` levels.
    static func value(_ random: inout SeededRandom, depth: Int) -> JSONValue {
        switch random.number(in: 0..<(depth > 0 ? 7 : 5)) {
        case 0: .null
        case 1: .bool(random.chance(0.5))
        case 2: .integer(Int64(bitPattern: random.next() >> UInt64(random.number(in: 0..<64))))
        case 3: .number(Double(random.number(in: -1_000_000..<1_000_000)) / 1024 + 0.5)
        case 4: .string(text(&random))
        case 5: .array((0..<random.number(in: 0..<4)).map { _ in value(&random, depth: depth - 1) })
        default:
            .object(
                (0..<random.number(in: 0..<4)).map { index in
                    JSONValue.Member("\(index)\(text(&random))", value(&random, depth: depth - 1))
                })
        }
    }

    static func text(_ random: inout SeededRandom) -> String {
        var scalars = String.UnicodeScalarView()
        for _ in 0..<random.number(in: 0..<8) {
            let ranges: [ClosedRange<UInt32>] = [0...0x1F, 0x20...0x7F, 0x80...0xD7FF, 0xE000...0x10FFFF]
            let range = ranges[random.number(in: 0..<ranges.count)]
            if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &random)) { scalars.append(scalar) }
        }
        return String(scalars)
    }

    @Test func `the parser reads a written value back as an equal one`() throws {
        var random = SeededRandom.announced("JSON round trip")
        for _ in RandomRounds("JSON round trip", 500...5000) {
            let value = Self.value(&random, depth: 4)
            #expect(try JSONValue(parsing: value.bytes) == value)
        }
    }

    @Test(arguments: [Int64.min, -1, 0, 1, 9, 10, 99, 100, .max])
    func `an integer is written as Swift prints it`(number: Int64) {
        #expect(JSONValue.integer(number).text == "\(number)")
    }

    @Test func `only characters that must be escaped are escaped`() {
        #expect(JSONValue.string("\"\\/\n\r\t\u{8}\u{1F}é😀\u{7F}").text == #""\"\\/\n\r\t\u0008\u001fé😀"# + "\u{7F}\"")
    }

    @Test func `an infinite number is written as null`() {
        for number in [Double.nan, .infinity, -.infinity] { #expect(JSONValue.number(number).text == "null") }
    }

    @Test func `commas separate members and elements`() {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("a", 1)
        writer.member("b", nil as String?)
        writer.name("c")
        writer.beginArray()
        writer.value(true)
        writer.beginObject()
        writer.endObject()
        writer.null()
        writer.endArray()
        writer.member("d", "x")
        writer.member("at", Timestamp.zero)
        writer.member("id", CommandID(high: 0, low: 1))
        writer.name("raw")
        writer.json("[1]".utf8)
        writer.member("last", false)
        writer.endObject()
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #"{"a":1,"b":null,"c":[true,{},null],"d":"x","at":"1970-01-01T00:00:00.000Z","#
                + #""id":"00000000-0000-0000-0000-000000000001","raw":[1],"last":false}"#)
        writer.removeAll()
        writer.value("again")
        #expect(writer.bytes == Array("\"again\"".utf8))
    }

    @Test func `each kind of value has its own accessor`() {
        let value: JSONValue = ["s": "x", "i": 1, "n": .number(1.5), "b": true, "a": [], "z": nil]
        #expect(value["s"]?.string == "x")
        #expect(value["i"]?.integer == 1)
        #expect(value["n"]?.integer == nil)
        #expect(value["b"]?.bool == true)
        #expect(value["a"]?.elements == [])
        #expect(value["none"] == nil)
        #expect(JSONValue.null["s"] == nil)
        #expect(
            value.members?.map(\.value.kind) == ["a string", "a number", "a number", "a boolean", "an array", "null"])
    }
}
