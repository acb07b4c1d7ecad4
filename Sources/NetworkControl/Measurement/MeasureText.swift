internal import Commands

/// Formats measures for sentences.
enum MeasureText {
    /// Bytes per second as `1.9 Mbit/s`.
    static func rate(_ bytes: Double) -> String {
        let bits = bytes * 8
        return bits < 999_500 ? "\(Int((bits / 1000).rounded())) kbit/s" : "\(tenths(bits / 1e6)) Mbit/s"
    }

    /// A time as `350 ms` or `3.2 s`.
    static func time(_ time: Duration) -> String {
        let seconds = time.seconds
        return seconds < 0.9995 ? "\(Int((seconds * 1000).rounded())) ms" : "\(tenths(seconds)) s"
    }

    static func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }

    /// A count with one decimal.
    static func count(_ value: Double) -> String { tenths(value) }

    private static func tenths(_ value: Double) -> String {
        let tenths = Int64((min(value, 1e15) * 10).rounded())
        return tenths >= 1000 ? "\((tenths + 5) / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
}
