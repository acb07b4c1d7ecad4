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

    /// A queue of so many microseconds is tolerated: LEDBAT++'s 60 ms (draft-irtf-iccrg-ledbat-plus-plus), not the 100
    /// of RFC 6817. Eight transfers at 20 Mbit/s and 50 ms keep 2.5 MB of high quality for 1.14 of its time alone, and
    /// for 1.17 with 100 ms; what is carried in all is the same.
    static let target: Int64 = 60_000
    /// Three full packets.
    static let minBytes = 4608
    /// What the kernel lets anybody have (`net.core.wmem_max`, its default).
    static let maxBytes = 212_992

    /// Takes in what was measured, 4 times a second.
    /// - Parameters:
    ///   - roundTrip: smoothed, in microseconds.
    ///   - minRoundTrip: the least known to this destination, in microseconds.
    ///   - unacknowledged: bytes under way.
    /// - Returns: whether ``bytes`` is to be set.
    mutating func update(roundTrip: Int64, minRoundTrip: Int64, unacknowledged: Int64) -> Bool {
        guard roundTrip > 0, minRoundTrip > 0 else { return false }
        let queue = roundTrip - minRoundTrip
        let before = bytes
        if queue > Self.target {
            let now = bytes ?? min(max(Int(unacknowledged), Self.minBytes), Self.maxBytes)
            // To half of the target at once, which empties no link: what is under way is in proportion to the round trip.
            let share = max(Double(minRoundTrip + Self.target / 2) / Double(roundTrip), 0.25)
            bytes = max(Int(Double(now) * share), Self.minBytes)
        } else if queue < Self.target / 2, let now = bytes {
            // Slowly near the aim, so that one spike of a wireless link's round trip is not for ever.
            bytes = min(Int(Double(now) * (queue < Self.target / 4 ? 1.5 : 1.05)), Self.maxBytes)
        }
        return bytes != before
    }
}
