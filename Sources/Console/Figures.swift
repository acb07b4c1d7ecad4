package import Commands

/// Numbers, sizes and rates in the form that people read.
package enum Figures {
    /// `0 B`, `999 B`, `1.2 kB`, `64 kB`, `3.4 GB`: decimal units, at most three digits.
    package static func bytes(_ count: Int64) -> String {
        scaled(count, units: [" B", " kB", " MB", " GB", " TB", " PB", " EB"])
    }

    /// `1.2 MB/s`.
    package static func rate(_ bytesPerSecond: Int64) -> String { "\(bytes(bytesPerSecond))/s" }

    /// `950`, `1.2k`, `40k`, `3.4M`.
    package static func count(_ count: Int64) -> String { scaled(count, units: ["", "k", "M", "G", "T", "P", "E"]) }

    /// `1,234,567`.
    package static func grouped(_ count: Int64) -> String {
        let digits = Array(String(count.magnitude))
        var text = count < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return text
    }

    /// A decimal number with `digits` digits after the point, without Foundation.
    package static func decimal(_ value: Double, digits: Int) -> String {
        guard value.isFinite else { return "-" }
        var factor = 1.0
        for _ in 0..<digits { factor *= 10 }
        let scaled = (value.magnitude * factor).rounded()
        guard scaled < 9e15 else { return "\(value)" }
        let whole = Int64(scaled) / Int64(factor)
        let fraction = Int64(scaled) % Int64(factor)
        let sign = value < 0 && scaled > 0 ? "-" : ""
        if digits == 0 { return "\(sign)\(whole)" }
        let text = String(fraction)
        return "\(sign)\(whole)." + String(repeating: "0", count: digits - text.count) + text
    }

    private static func scaled(_ count: Int64, units: [String]) -> String {
        var value = Double(count.magnitude)
        var unit = 0
        while value >= 999.5, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        let digits = unit == 0 || value >= 9.95 ? 0 : 1
        return (count < 0 ? "-" : "") + decimal(value, digits: digits) + units[unit]
    }
}

extension Duration {
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

extension Timestamp {
    /// Reads RFC 3339 (`2026-03-01T12:34:56Z`, with fractions and offsets), or a duration from now: `+10m`,
    /// `90s`.
    /// - Returns: nil for anything else.
    package init?(text: some StringProtocol, now: Timestamp) {
        if let duration = Duration.parse(text.hasPrefix("+") ? Substring(text.dropFirst()) : Substring(text)) {
            self = now + duration
        } else if let time = Timestamp(rfc3339: text) {
            self = time
        } else {
            return nil
        }
    }
}
