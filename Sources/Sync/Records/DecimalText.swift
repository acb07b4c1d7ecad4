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
