/// Why and where a text is not JSON (RFC 8259).
public struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The offset of the problem: bytes from the start of the text, from 0.
    public var position: Int
    /// The problem in words, without its position.
    public var problem: String

    /// The problem and its position, counted from 1: `expected “:” after a name at byte 8`.
    public var description: String { "\(problem) at byte \(position + 1)" }
}

extension JSONValue {
    /// Reads one JSON text (RFC 8259). Only white space may surround it.
    ///
    /// A number without fraction and exponent is an `integer` where it fits into 64 bits. Every other number
    /// is a `number` where a `Double` holds it, and otherwise a `decimal`.
    /// - Parameter bytes: the text in UTF-8, without a byte order mark.
    /// - Throws: ``JSONError`` for malformed text, invalid UTF-8, a name that occurs twice in one object, or a
    ///   value inside more than 64 arrays and objects.
    public init(parsing bytes: some Collection<UInt8>) throws(JSONError) {
        let parsed = bytes.withContiguousStorageIfAvailable { buffer in
            Result { () throws(JSONError) in try JSONValue(buffer: buffer) }
        }
        if let parsed {
            self = try parsed.get()
        } else {
            self = try JSONValue(parsing: Array(bytes))
        }
    }

    private init(buffer: UnsafeBufferPointer<UInt8>) throws(JSONError) {
        var parser = JSONParser(bytes: buffer)
        self = try parser.text()
    }

    /// The text without the white space (RFC 8259, section 2) before and after it.
    package static func trimmingSpace(around bytes: [UInt8]) -> [UInt8] {
        guard let first = bytes.firstIndex(where: { !JSONParser.isSpace($0) }),
            let last = bytes.lastIndex(where: { !JSONParser.isSpace($0) })
        else { return [] }
        return Array(bytes[first...last])
    }

    /// As ``init(parsing:)``, with the position of the value of each member of an object, so that a value can
    /// be stored byte for byte.
    /// - Returns: the value, and for each member, in order, the offsets of its value in `bytes`; none where
    ///   the value is not an object.
    package static func locatingMembers(
        of bytes: [UInt8]
    ) throws(JSONError) -> (value: JSONValue, members: [Range<Int>]) {
        try bytes.withUnsafeBufferPointer { buffer throws(JSONError) in
            var parser = JSONParser(bytes: buffer)
            parser.locatesMembers = true
            return (try parser.text(), parser.members)
        }
    }
}

private struct JSONParser {
    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0
    /// Whether to fill ``members``.
    var locatesMembers = false
    /// The positions of the values of the outermost object.
    private(set) var members: [Range<Int>] = []

    static let maxDepth = 64
    /// The number of names of one object up to which a linear search finds a duplicate. For more names there
    /// is a set.
    static let maxLinearNames = 16

    init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    func error(_ problem: String) -> JSONError { JSONError(position: position, problem: problem) }

    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func skipSpace() {
        while position < bytes.count, Self.isSpace(bytes[position]) { position += 1 }
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

    mutating func text() throws(JSONError) -> JSONValue {
        let value = try value(depth: 0)
        skipSpace()
        guard position == bytes.count else { throw error("unexpected text after the value") }
        return value
    }

    mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        skipSpace()
        guard let first = next else { throw error("the text ends where a value should stand") }
        if first == UInt8(ascii: "{") || first == UInt8(ascii: "["), depth >= Self.maxDepth {
            throw error("nested deeper than \(Self.maxDepth)")
        }
        switch first {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        default: throw error("no JSON value starts with this character")
        }
    }

    mutating func literal(_ word: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
        for index in 0..<word.utf8CodeUnitCount {
            guard next == word.utf8Start[index] else { throw error("expected “\(word)”") }
            position += 1
        }
        return value
    }

    mutating func object(depth: Int) throws(JSONError) -> JSONValue {
        position += 1
        var members: [JSONValue.Member] = []
        // Bytes, because strings that differ only in their Unicode form are equal.
        var names: Set<[UInt8]> = []
        skipSpace()
        if next == UInt8(ascii: "}") {
            position += 1
            return .object(members)
        }
        while true {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw error("expected the name of a member in quotes") }
            let start = position
            let name = try string()
            let isTaken: Bool
            if members.count < Self.maxLinearNames {
                isTaken = members.contains { $0.name.hasSameBytes(as: name) }
            } else {
                if names.isEmpty { names = Set(members.map { Array($0.name.utf8) }) }
                isTaken = !names.insert(Array(name.utf8)).inserted
            }
            if isTaken {
                position = start
                throw error("the name “\(name.excerpt)” occurs twice in one object")
            }
            skipSpace()
            guard next == UInt8(ascii: ":") else { throw error("expected “:” after a name") }
            position += 1
            skipSpace()
            let valueStart = position
            members.append(.init(name, try value(depth: depth + 1)))
            if depth == 0, locatesMembers { self.members.append(valueStart..<position) }
            skipSpace()
            switch next {
            case UInt8(ascii: ","): position += 1
            case UInt8(ascii: "}"):
                position += 1
                return .object(members)
            default: throw error("expected “,” or “}” in an object")
            }
        }
    }

    mutating func array(depth: Int) throws(JSONError) -> JSONValue {
        position += 1
        var elements: [JSONValue] = []
        skipSpace()
        if next == UInt8(ascii: "]") {
            position += 1
            return .array(elements)
        }
        while true {
            elements.append(try value(depth: depth + 1))
            skipSpace()
            switch next {
            case UInt8(ascii: ","): position += 1
            case UInt8(ascii: "]"):
                position += 1
                return .array(elements)
            default: throw error("expected “,” or “]” in an array")
            }
        }
    }

    mutating func string() throws(JSONError) -> String {
        position += 1
        let start = position
        // Most strings have no escape, and need one scan and one copy.
        while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { position += 1 }
        guard next == UInt8(ascii: "\\") else {
            let text = try text(UnsafeBufferPointer(rebasing: bytes[start..<position]), at: start)
            try closeString()
            return text
        }
        var unescaped = Array(bytes[start..<position])
        while let byte = next, byte != UInt8(ascii: "\""), byte >= 0x20 {
            position += 1
            if byte == UInt8(ascii: "\\") { try escape(into: &unescaped) } else { unescaped.append(byte) }
        }
        let text = try unescaped.withUnsafeBufferPointer { buffer throws(JSONError) in try self.text(buffer, at: start)
        }
        try closeString()
        return text
    }

    func text(_ bytes: UnsafeBufferPointer<UInt8>, at start: Int) throws(JSONError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw JSONError(position: start, problem: "a string is not valid UTF-8")
        }
        return text
    }

    mutating func closeString() throws(JSONError) {
        guard let byte = next else { throw error("the text ends inside a string") }
        guard byte == UInt8(ascii: "\"") else { throw error("a control character in a string must be escaped") }
        position += 1
    }

    mutating func escape(into text: inout [UInt8]) throws(JSONError) {
        guard let byte = next else { throw error("the text ends inside a string") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            var scalar = try hexadecimal()
            if (0xD800..<0xDC00).contains(scalar) {
                guard next == UInt8(ascii: "\\") else { throw error("half of a surrogate pair") }
                position += 1
                guard next == UInt8(ascii: "u") else { throw error("half of a surrogate pair") }
                position += 1
                let low = try hexadecimal()
                guard (0xDC00..<0xE000).contains(low) else { throw error("half of a surrogate pair") }
                scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let unicode = Unicode.Scalar(scalar) else { throw error("half of a surrogate pair") }
            text.append(contentsOf: UTF8.encode(unicode)!)
        default:
            position -= 1
            throw error("an escape that JSON does not have")
        }
    }

    mutating func hexadecimal() throws(JSONError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = next?.hexadecimalValue else {
                throw error("expected four hexadecimal digits")
            }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }

    mutating func number() throws(JSONError) -> JSONValue {
        let start = position
        if next == UInt8(ascii: "-") { position += 1 }
        let whole = digits()
        guard whole > 0 else { throw error("a digit is missing in a number") }
        let firstDigit = position - whole
        guard whole == 1 || bytes[firstDigit] != UInt8(ascii: "0") else { throw error("a number starts with 0") }
        var isInteger = true
        if next == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            guard digits() > 0 else { throw error("a digit is missing after the point") }
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            isInteger = false
            position += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
            guard digits() > 0 else { throw error("a digit is missing in the exponent") }
        }
        let text = String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<position]), as: UTF8.self)
        if isInteger { return Int64(text).map { .integer($0) } ?? .decimal(text) }
        guard let value = Double(text), Self.isExact(value, text.utf8) else { return .decimal(text) }
        return .number(value)
    }

    /// Whether a number is the one of its text. A `Double` tells all numbers of 15 digits apart (IEEE 754, binary64), but for
    /// the smallest.
    static func isExact(_ value: Double, _ text: String.UTF8View) -> Bool {
        guard value.isFinite else { return false }
        let mantissa = text.prefix { $0 != UInt8(ascii: "e") && $0 != UInt8(ascii: "E") }
        let digits = mantissa.filter { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        let count = digits.drop { $0 == UInt8(ascii: "0") }.count
        if count == 0 || count <= 15 && value.magnitude >= 1e-300 { return true }
        return "\(value)".utf8.elementsEqual(text)
    }

    mutating func digits() -> Int {
        let start = position
        while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
        return position - start
    }
}
