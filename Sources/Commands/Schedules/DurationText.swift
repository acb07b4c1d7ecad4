/// Reads and writes the durations of stored definitions: `500ms`, `30s`, `10m`, `1h30m`, `7d`.
enum DurationText {
    /// Reads whole numbers with the units d, h, m, s and ms, sums of them, and plain whole seconds.
    /// - Returns: nil for anything else, and beyond a thousand years.
    static func duration(_ text: String) -> Duration? {
        var rest = text.utf8[...]
        guard !rest.isEmpty else { return nil }
        var sum: Int64 = 0
        while !rest.isEmpty {
            let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard (1...14).contains(digits.count), let number = Int64(String(decoding: digits, as: UTF8.self)) else {
                return nil
            }
            rest = rest[digits.endIndex...]
            let unit = rest.prefix { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
            rest = rest[unit.endIndex...]
            let name = String(decoding: unit, as: UTF8.self)
            let isPlain = name.isEmpty && digits.count == text.utf8.count
            guard let factor = isPlain ? 1000 : units.first(where: { $0.name == name })?.milliseconds,
                number <= max / factor
            else { return nil }
            sum += number * factor
            guard sum <= max else { return nil }
        }
        return .milliseconds(sum)
    }

    /// The duration in its largest whole unit: `90m`, `1d`, `1500ms`, `0s`.
    static func text(_ duration: Duration) -> String {
        let milliseconds = duration.milliseconds
        for (name, unit) in units where milliseconds >= unit && milliseconds.isMultiple(of: unit) {
            return "\(milliseconds / unit)\(name)"
        }
        return milliseconds == 0 ? "0s" : "\(milliseconds)ms"
    }

    private static let units: [(name: String, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]
    /// A thousand years in milliseconds.
    private static let max: Int64 = 31_557_600_000_000
}
