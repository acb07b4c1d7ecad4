/// How much a transfer of low quality may have under way, so that a slow link's queue stays short and whoever comes next
/// need not wait behind it. Pure.
///
/// LEDBAT's idea (RFC 6817): yield as soon as the round trip is longer than the least one by more than a target, however
/// it came about. Here the kernel's congestion control goes on, and the send buffer is what is made smaller: what
/// is in the network plus what waits in the socket never exceeds it. One cubic transfer fills any queue; 150 kB of it
/// at 2 Mbit/s kept the first byte of a high transfer for 0.6 s (measured).
struct ScavengerWindow: Sendable {
    /// For SO_SNDBUF, which the kernel doubles for its own accounts; nil: the kernel's own choice still holds.
    private(set) var bytes: Int?

    /// A queue of so many microseconds is tolerated.
    static let target: Int64 = 100_000
    /// Three full packets.
    static let least = 4608
    /// What the kernel lets anybody have (`net.core.wmem_max`, its default).
    static let most = 212_992
    private static let shrink = 0.7
    private static let grow = 1.5

    /// Takes in what was measured, 4 times a second.
    /// - Parameters:
    ///   - roundTrip: smoothed, in microseconds.
    ///   - leastRoundTrip: the least known to this destination, in microseconds.
    ///   - unacknowledged: bytes under way.
    /// - Returns: whether ``bytes`` is to be set.
    mutating func update(roundTrip: Int64, leastRoundTrip: Int64, unacknowledged: Int64) -> Bool {
        guard roundTrip > 0, leastRoundTrip > 0 else { return false }
        let queue = roundTrip - leastRoundTrip
        let before = bytes
        if queue > Self.target {
            let now = bytes ?? min(max(Int(unacknowledged), Self.least), Self.most)
            // Straight to the target where it is far away: half of the queue is a round trip less.
            let share = max(Double(leastRoundTrip + Self.target) / Double(roundTrip), 0.25)
            bytes = max(Int(Double(now) * min(share, Self.shrink)), Self.least)
        } else if queue < Self.target / 2, let now = bytes {
            bytes = min(Int(Double(now) * Self.grow), Self.most)
        }
        return bytes != before
    }
}
