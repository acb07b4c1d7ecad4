extension Duration {
    /// Reads `500ms`, `25s`, `2m`, `1h`, `7d`, sums of them such as `1h30m`, and plain seconds such as `2.5`.
    /// - Returns: nil for anything else, for negative durations, and beyond a thousand years.
    package init?(text: some StringProtocol) {
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
        self = .milliseconds(Int64((seconds * 1000).rounded()))
    }

    /// At most two units, for people: `0.4s`, `12s`, `3m 20s`, `2h 5m`, `9d 3h`.
    package var shortText: String {
        let seconds = max(components.seconds, 0)
        switch seconds {
        case ..<10:
            let tenths = max(components.seconds, 0) * 10 + components.attoseconds / 100_000_000_000_000_000
            return "\(tenths / 10).\(tenths % 10)s"
        case ..<60: return "\(seconds)s"
        case ..<3600: return Self.pair(seconds / 60, "m", seconds % 60, "s")
        case ..<86_400: return Self.pair(seconds / 3600, "h", seconds % 3600 / 60, "m")
        default: return Self.pair(seconds / 86_400, "d", seconds % 86_400 / 3600, "h")
        }
    }

    /// One unit, for columns: `12s`, `3m`, `2h`, `9d`.
    package var roundText: String {
        let seconds = max(components.seconds, 0)
        switch seconds {
        case ..<60: return "\(seconds)s"
        case ..<3600: return "\(seconds / 60)m"
        case ..<86_400: return "\(seconds / 3600)h"
        default: return "\(seconds / 86_400)d"
        }
    }

    private static func pair(_ large: Int64, _ largeUnit: String, _ small: Int64, _ smallUnit: String) -> String {
        small == 0 ? "\(large)\(largeUnit)" : "\(large)\(largeUnit) \(small)\(smallUnit)"
    }
}
