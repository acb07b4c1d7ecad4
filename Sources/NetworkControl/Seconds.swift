extension Duration {
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

extension Int64 {
    /// Nanoseconds as seconds.
    var seconds: Double { Double(self) / 1e9 }

    init(seconds: Double) { self = Int64(seconds * 1e9) }
}
