/// Counts the bytes of compact JSON without writing it, up to a limit.
struct JSONSize {
    /// A limit that a value exceeds.
    enum Excess: Error { case bytes, depth }

    /// The arrays and objects that may lie within each other: the limit of the parser.
    static let maxDepth = 64

    /// The bytes that remain up to the limit.
    private(set) var rest: Int

    init(maxBytes: Int) { rest = maxBytes }

    mutating func add(bytes: Int) throws(Excess) {
        guard bytes <= rest else { throw .bytes }
        rest -= bytes
    }

    /// - Parameter depth: the arrays and objects around the value.
    mutating func add(_ value: JSONValue, depth: Int) throws(Excess) {
        switch value {
        case .null: try add(bytes: 4)
        case .bool(let isTrue): try add(bytes: isTrue ? 4 : 5)
        case .integer(let integer): try add(bytes: "\(integer)".utf8.count)
        case .number(let number): try add(bytes: number.isFinite ? "\(number)".utf8.count : 4)
        case .decimal(let text): try add(bytes: text.utf8.count)
        case .string(let text): try add(string: text)
        case .array(let elements):
            try open(count: elements.count, depth: depth)
            for element in elements { try add(element, depth: depth + 1) }
        case .object(let members):
            try open(count: members.count, depth: depth)
            for member in members {
                try add(name: member.name)
                try add(member.value, depth: depth + 1)
            }
        }
    }

    /// Counts the brackets and commas of an array or object.
    mutating func open(count: Int, depth: Int) throws(Excess) {
        guard depth < Self.maxDepth else { throw .depth }
        try add(bytes: 2 + max(count - 1, 0))
    }

    /// Counts the name of a member and its colon.
    mutating func add(name: String) throws(Excess) {
        try add(string: name)
        try add(bytes: 1)
    }

    private mutating func add(string: String) throws(Excess) {
        var count = 2
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x0A, 0x0D, 0x09: count += 2
            case 0..<0x20: count += 6
            default: count += 1
            }
        }
        try add(bytes: count)
    }
}
