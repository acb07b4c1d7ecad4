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
