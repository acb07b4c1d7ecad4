extension Int64 {
    /// Nanoseconds as seconds.
    var seconds: Double { Double(self) / 1e9 }

    init(seconds: Double) { self = Int64(seconds * 1e9) }
}
