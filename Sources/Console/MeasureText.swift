internal import Commands

/// Formats measures for sentences.
enum MeasureText {
    /// Bytes per second as `1.9 Mbit/s`.
    static func rate(_ bytes: Double) -> String {
        let bits = bytes * 8
        return bits < 999_500 ? "\(whole(bits / 1000)) kbit/s" : "\(tenths(bits / 1e6)) Mbit/s"
    }

    /// A time as `350 ms` or `3.2 s`.
    static func time(_ time: Duration) -> String { Self.time(seconds: time.seconds) }

    static func time(seconds: Double) -> String {
        seconds < 0.9995 ? "\(whole(seconds * 1000)) ms" : "\(tenths(seconds)) s"
    }

    static func percent(_ share: Double) -> String { "\(whole(share * 100)) %" }

    private static func tenths(_ value: Double) -> String {
        let tenths = whole(value * 10)
        return tenths >= 1000 ? "\((tenths + 5) / 10)" : "\(tenths / 10).\(tenths % 10)"
    }

    /// A stored value may be damaged: at least 0, at most 1e15, and 0 for no number.
    static func whole(_ value: Double) -> Int64 { value > 0 ? Int64(min(value, 1e15).rounded()) : 0 }
}
