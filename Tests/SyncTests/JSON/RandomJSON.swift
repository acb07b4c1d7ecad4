import Commands
import TestSupport

/// Random JSON values for fuzz tests.
enum RandomJSON {
    static let names = [
        "id", "a", "b", "name", "é", "e\u{301}", "", "a/b", "m~n", "0", "quote\"", "long name of 20 bytes",
    ]
    static let strings = [
        "", "a", "id", "日本語", "quote \" and \\ backslash", "line\nbreak", "\0", "]}{[,:", "😀", "2026-03-01T12:34:56Z",
        "\u{1F}",
        "a text that has more than sixteen bytes", "[", "\\",
    ]

    static func value(depth: Int, _ random: inout SeededRandom) -> JSONValue {
        switch random.number(in: 0..<(depth > 0 ? 9 : 6)) {
        case 0: return .null
        case 1: return .bool(random.chance(0.5))
        case 2: return .integer(Int64(random.number(in: -1000..<1000)))
        case 3: return .number(Double(random.number(in: -1000..<1000)) / 8)
        case 4, 5: return .string(strings[random.number(in: 0..<strings.count)])
        case 6: return .array((0..<random.number(in: 0..<4)).map { _ in value(depth: depth - 1, &random) })
        default: return object(depth: depth, &random)
        }
    }

    static func object(depth: Int, _ random: inout SeededRandom) -> JSONValue {
        var members: [JSONValue.Member] = []
        for _ in 0..<random.number(in: 0..<(random.chance(0.05) ? 30 : 5)) {
            var name = names[random.number(in: 0..<names.count)]
            if random.chance(0.2) { name += "\(random.number(in: 0..<40))" }
            guard !members.contains(where: { $0.name.utf8.elementsEqual(name.utf8) }) else { continue }
            members.append(.init(name, value(depth: depth - 1, &random)))
        }
        return .object(members)
    }

    /// The text of a value with random white space, and with escapes where they are not needed.
    static func text(_ value: JSONValue, _ random: inout SeededRandom) -> [UInt8] {
        switch value {
        case .array(let elements):
            return list("[", "]", elements.map { text($0, &random) }, &random)
        case .object(let members):
            let parts = members.map { member in
                string(member.name, &random) + space(&random) + Array(":".utf8) + space(&random)
                    + text(member.value, &random)
            }
            return list("{", "}", parts, &random)
        case .string(let text): return string(text, &random)
        case .null, .bool, .integer, .number, .decimal: return value.bytes
        }
    }

    static func list(_ open: String, _ close: String, _ parts: [[UInt8]], _ random: inout SeededRandom) -> [UInt8] {
        var bytes = Array(open.utf8) + space(&random)
        for (index, part) in parts.enumerated() {
            if index > 0 { bytes += Array(",".utf8) + space(&random) }
            bytes += part + space(&random)
        }
        return bytes + Array(close.utf8)
    }

    static func space(_ random: inout SeededRandom) -> [UInt8] {
        random.chance(0.8)
            ? [] : (0..<random.number(in: 1..<3)).map { _ in [0x20, 0x09, 0x0A, 0x0D][random.number(in: 0..<4)] }
    }

    static func string(_ text: String, _ random: inout SeededRandom) -> [UInt8] {
        guard random.chance(0.1) else { return JSONValue.string(text).bytes }
        let units = text.utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
        return Array("\"\(units.joined())\"".utf8)
    }
}
