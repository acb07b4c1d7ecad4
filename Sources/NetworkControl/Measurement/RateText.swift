/// Reads rates as people write them.
package enum RateText {
    private static let units: [(name: String, bytes: Double)] = [
        ("bit", 0.125), ("kbit", 125), ("mbit", 125_000), ("gbit", 125_000_000),
        ("B", 1), ("kB", 1000), ("KB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000),
    ]

    /// Examples of what ``bytesPerSecond(_:)`` takes, for messages.
    package static let examples = "2Mbit, 250kB or bytes per second"

    /// Reads `2Mbit`, `250kB`, `1.5 MB/s`, or plain bytes per second. The letters of a unit of bits may have
    /// any case. Those of a unit of bytes may not, because `kb` can mean either.
    /// - Returns: nil for anything else, and for more than 1 TB/s.
    package static func bytesPerSecond(_ text: some StringProtocol) -> Int64? {
        let digits = text.prefix { $0.isASCII && $0.isNumber || $0 == "." }
        guard let number = Double(digits) else { return nil }
        var unit = String(text[digits.endIndex...].drop { $0 == " " })
        if unit.hasSuffix("/s") { unit.removeLast(2) }
        let factor =
            unit.isEmpty ? 1 : units.first { $0.name == unit || $0.bytes != 1 && $0.name == unit.lowercased() }?.bytes
        guard let factor, number * factor <= 1e12 else { return nil }
        return Int64((number * factor).rounded())
    }
}
