internal import Commands
internal import Transfers

/// The version of a record, by which `"merge": "newest"` and a `since` of versions order records: a number by
/// its value, or an RFC 3339 date as an instant. Pure.
enum RecordVersion: Sendable, Equatable {
    case number(DecimalText, text: String)
    case instant(Timestamp)

    /// The value at the pointer `version` is neither a number nor a date.
    struct Unordered: Error, Equatable {
        /// The kind of value, or the text, in a message.
        var found: String
    }

    /// - Parameter value: JSON text; nil where the record has none.
    /// - Returns: nil for a missing value and for null.
    /// - Throws: ``Unordered`` for any value that has no order.
    static func read(_ value: ArraySlice<UInt8>?) throws(Unordered) -> RecordVersion? {
        guard let value, let first = value.first, first != UInt8(ascii: "n") else { return nil }
        if let number = DecimalText(value) {
            guard value.count <= 64 else { throw Unordered(found: "a number of \(value.count) characters") }
            return .number(number, text: String(decoding: value, as: UTF8.self))
        }
        guard first == UInt8(ascii: "\"") else { throw Unordered(found: first.kindOfJSONValue) }
        // A date has no escapes; with one it is refused like any other text.
        let text = String(decoding: value.dropFirst().dropLast(), as: UTF8.self)
        guard let instant = Timestamp(rfc3339: text) else { throw Unordered(found: "“\(text.prefix(80))”") }
        return .instant(instant)
    }

    /// Whether this version is later than another one; nil where one is a number and the other a date.
    func isLater(than other: RecordVersion) -> Bool? {
        switch (self, other) {
        case (.number(let left, _), .number(let right, _)): left > right
        case (.instant(let left), .instant(let right)): left > right
        case (.number, .instant), (.instant, .number): nil
        }
    }

    /// The version moved by a difference of clocks; a number stays.
    func moved(by offset: Duration) -> RecordVersion {
        switch self {
        case .number: self
        case .instant(let time): .instant(time + offset)
        }
    }

    /// The text in a column, which ``init(stored:)`` reads.
    var stored: String {
        switch self {
        case .number(_, let text): text
        case .instant(let time): time.description
        }
    }

    init?(stored text: String) {
        if let number = DecimalText(text.utf8), Timestamp(rfc3339: text) == nil {
            self = .number(number, text: text)
        } else if let time = Timestamp(rfc3339: text) {
            self = .instant(time)
        } else {
            return nil
        }
    }
}

/// A JSON number of any size, compared by its exact value. Pure.
struct DecimalText: Sendable, Equatable {
    /// Digits of a number that are compared; later ones hardly ever differ, and bound the work.
    static let maxDigits = 400

    private var isNegative: Bool
    /// Without zeros at either end; empty for 0.
    private var digits: [UInt8] = []
    /// The value is `0.digits` times ten to this power.
    private var exponent = 0

    /// - Parameter text: a number of JSON's grammar; nil for any other first character.
    init?(_ text: some Sequence<UInt8>) {
        var rest = Array(text.prefix(Self.maxDigits * 2))[...]
        isNegative = rest.first == UInt8(ascii: "-")
        if isNegative { rest.removeFirst() }
        guard let first = rest.first, first.isASCIIDigit else { return nil }
        var isFraction = false
        while let byte = rest.first, byte.isASCIIDigit || byte == UInt8(ascii: ".") {
            rest.removeFirst()
            guard byte != UInt8(ascii: ".") else {
                isFraction = true
                continue
            }
            let isLeadingZero = digits.isEmpty && byte == UInt8(ascii: "0")
            if !isFraction, !isLeadingZero { exponent += 1 }
            if isFraction, isLeadingZero { exponent -= 1 }
            if !isLeadingZero, digits.count < Self.maxDigits { digits.append(byte) }
        }
        if let mark = rest.first, mark | 0x20 == UInt8(ascii: "e") { exponent += Self.exponent(rest.dropFirst()) }
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
        if digits.isEmpty { (isNegative, exponent) = (false, 0) }
    }

    /// Exponents beyond a billion are all the same.
    private static func exponent(_ text: ArraySlice<UInt8>) -> Int {
        var value = 0
        for byte in text where byte.isASCIIDigit {
            value = min(value * 10 + Int(byte - UInt8(ascii: "0")), 1_000_000_000)
        }
        return text.first == UInt8(ascii: "-") ? -value : value
    }
}

extension DecimalText: Comparable {
    static func < (left: DecimalText, right: DecimalText) -> Bool {
        guard left.isNegative == right.isNegative else { return left.isNegative }
        return left.isNegative ? right.isSmaller(than: left) : left.isSmaller(than: right)
    }

    /// By magnitude.
    private func isSmaller(than other: DecimalText) -> Bool {
        guard !digits.isEmpty, !other.digits.isEmpty else { return digits.isEmpty && !other.digits.isEmpty }
        guard exponent == other.exponent else { return exponent < other.exponent }
        return digits.lexicographicallyPrecedes(other.digits)
    }
}
