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
