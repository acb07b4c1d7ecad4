/// A JSON text (RFC 8259) in memory. Objects keep the order of their members.
///
/// Strings and names are compared by their bytes: two that differ only in their Unicode form are not equal.
/// An `integer` never equals a `number`: 1 is not equal to 1.0.
///
/// The decoder of Foundation needs 5–10 µs for a line of bulk submit. The whole budget of a line is 10 µs,
/// which is the target of 100,000 lines a second in PERFORMANCE.md.
public enum JSONValue: Sendable, Hashable {
    /// The literal `null`.
    case null
    /// The literal `true` or `false`.
    case bool(Bool)
    /// A number without fraction and exponent that fits into 64 bits.
    case integer(Int64)
    /// Any other number that a `Double` holds. One that is not finite is written as `null`, because JSON has none.
    case number(Double)
    /// A number that neither 64 bits nor a `Double` hold as it stands, as its text: `18446744073709551614`, `1e400`. The text
    /// is written as it is, and must be a number of JSON.
    case decimal(String)
    /// A string, without its quotes and escapes.
    case string(String)
    /// The elements in their order.
    case array([JSONValue])
    /// The members in their order. The parser refuses a name that occurs twice; an object that is made in
    /// code is not checked.
    case object([Member])

    /// A name and a value in an object.
    public struct Member: Sendable, Hashable {
        /// The name, without its quotes and escapes.
        public var name: String
        /// The value that the name has in its object.
        public var value: JSONValue

        /// Makes a member.
        public init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The value of the first member with that name, which is compared by its bytes. Nil where there is none,
    /// or where this is not an object.
    public subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name.hasSameBytes(as: name) }?.value
    }

    /// The text of a string; nil for any other kind.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The value of a number without fraction and exponent that fits into 64 bits; nil for any other number
    /// (also `1.0`) and any other kind.
    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    /// The value of any finite number; nil for any other kind.
    package var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value) where value.isFinite: value
        case .decimal(let text): Double(text).flatMap { $0.isFinite ? $0 : nil }
        default: nil
        }
    }
    /// A number whose fraction is zero (`5.0`) as the integer, which it is to a JSON schema, because some clients write every
    /// number with a fraction; any other value as it is.
    package var integral: JSONValue {
        guard case .number(let number) = self, number.magnitude < 9e15, let whole = Int64(exactly: number) else {
            return self
        }
        return .integer(whole)
    }
    /// A number without its fraction; nil for one beyond 9e18 and any other kind.
    package var wholeNumber: Int64? {
        guard let double, double.magnitude < 9e18 else { return nil }
        return integer ?? Int64(double.rounded())
    }
    /// RFC 3339, or Unix milliseconds; nil for anything else.
    package var timestamp: Timestamp? {
        switch self {
        case .integer(let value): Timestamp(milliseconds: value)
        case .string(let text): Timestamp(rfc3339: text)
        default: nil
        }
    }
    /// True or false; nil for any other kind.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The members of an object in their order; nil for any other kind.
    public var members: [Member]? { if case .object(let members) = self { members } else { nil } }
    /// The elements of an array; nil for any other kind.
    public var elements: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }

    /// The kind of the value, in words for an error message: `null`, `a boolean`, `a number`, `a string`, `an
    /// array` or `an object`.
    public var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer, .number, .decimal: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension JSONValue {
    /// Compares strings and names by their bytes, and members in their order.
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.decimal(let left), .decimal(let right)): left.hasSameBytes(as: right)
        case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        case (.null, _), (.bool, _), (.integer, _), (.number, _), (.decimal, _), (.string, _), (.array, _),
            (.object, _):
            false
        }
    }
}

extension JSONValue.Member {
    /// Compares the names by their bytes.
    public static func == (left: JSONValue.Member, right: JSONValue.Member) -> Bool {
        left.name.hasSameBytes(as: right.name) && left.value == right.value
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Makes a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Makes an integer of 64 bits.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Makes `true` or `false`.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Makes `null`.
    public init(nilLiteral: ()) { self = .null }
    /// Makes an array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Makes an object with the members in the order of the literal. A name that occurs twice is not refused.
    public init(dictionaryLiteral members: (String, JSONValue)...) { self = .object(members.map { Member($0, $1) }) }
}
