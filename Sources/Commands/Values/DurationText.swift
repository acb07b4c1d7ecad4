extension Duration {
    /// Reads `500ms`, `25s`, `2m`, `1h`, `7d`, sums of them such as `1h30m`, and plain seconds such as `2.5`.
    ///
    /// Not an initializer: where the compiler builds a whole module, a look-up of those of `Duration` takes `timespec` from
    /// another module than Glibc, and every later use of its members is an error (Swift 6.3).
    /// - Returns: nil for anything else, for negative durations, and beyond a thousand years.
    package static func parse(_ text: some StringProtocol) -> Duration? {
        var rest = Substring(text)
        guard !rest.isEmpty else { return nil }
        var seconds = 0.0
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber || $0 == "." }
            guard let number = Double(digits) else { return nil }
            rest = rest.dropFirst(digits.count)
            let unit = rest.prefix { $0.isASCII && $0.isLetter }
            rest = rest.dropFirst(unit.count)
            switch unit {
            case "ms": seconds += number / 1000
            case "s": seconds += number
            case "m": seconds += number * 60
            case "h": seconds += number * 3600
            case "d": seconds += number * 86_400
            case "" where rest.isEmpty && seconds == 0: seconds += number
            default: return nil
            }
        }
        guard seconds < 31_557_600_000 else { return nil }
        return .milliseconds(Int64((seconds * 1000).rounded()))
    }

    /// Examples of the forms, for messages that begin with “takes”.
    package static let forms = "a duration such as 500ms, 10s, 1h30m or 2.5 (seconds)"
}

extension JSONValue {
    /// A number of seconds, or a text such as `30s`; nil for anything else.
    package var seconds: Double? {
        if let number = double { return number }
        return duration.map { Double($0.milliseconds) / 1000 }
    }

    /// As ``seconds``, where it is a whole number; nil for a fraction.
    package var wholeSeconds: Int64? {
        if let number = integer { return number }
        guard let duration, duration.milliseconds.isMultiple(of: 1000) else { return nil }
        return duration.milliseconds / 1000
    }

    /// A text with a unit. A text of digits is a mistake rather than a time.
    private var duration: Duration? {
        string.flatMap { text in text.utf8.contains { $0 >= UInt8(ascii: "a") } ? Duration.parse(text) : nil }
    }
}

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
