internal import HTTPClient

/// A number of seconds in a directive or in `Age` (RFC 9111, section 1.2.2).
enum DeltaSeconds: Sendable, Equatable {
    /// 0…``max``.
    case seconds(Int64)
    /// Present, and not a number.
    case invalid

    /// About 68 years. A greater number counts as this one (section 1.2.2).
    static let max: Int64 = 1 << 31

    /// Reads digits, also with zeros at the start. A sign, a fraction or a space makes it invalid.
    init(_ text: some StringProtocol) {
        guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else {
            self = .invalid
            return
        }
        var value: Int64 = 0
        for byte in text.utf8 where value < Self.max { value = value * 10 + Int64(byte - UInt8(ascii: "0")) }
        self = .seconds(min(value, Self.max))
    }

    /// The time, and zero for an invalid one: a response with an invalid lifetime is stale (section 4.2.1).
    var duration: Duration { if case .seconds(let value) = self { .seconds(value) } else { .zero } }
}
