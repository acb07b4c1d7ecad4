/// How many bytes a transfer of low quality may have in flight, so that the queue of a slow link stays short
/// and the next transfer does not wait behind it. Pure.
///
/// This is LEDBAT's idea (RFC 6817): yield as soon as the round trip exceeds its minimum by more than a
/// target, whatever the cause. Here the kernel's congestion control stays as it is. The send buffer of an
/// upload shrinks: the bytes in the network and in the socket together never exceed it. The receive window of a
/// download shrinks (rLEDBAT, RFC 9840), so that the server stops within a round trip when a pause stops to read.
/// One cubic transfer fills any queue; 150 kB of it at 2 Mbit/s delayed the first byte of a high transfer by 0.6 s
/// (measured).
struct ScavengerWindow: Sendable {
    /// The value for SO_SNDBUF, which the kernel doubles for its bookkeeping, or for TCP_WINDOW_CLAMP; nil: the
    /// kernel's own choice still applies.
    private(set) var bytes: Int?

    /// The tolerated queue: LEDBAT++'s 60 ms (draft-irtf-iccrg-ledbat-plus-plus), not the 100
    /// ms of RFC 6817. Beside eight transfers at 20 Mbit/s and 50 ms, 2.5 MB of high quality take 1.14 times
    /// their time alone, and 1.17 times with 100 ms. The total throughput is the same.
    static let target: Duration = .milliseconds(60)
    /// The same for downloads. A server's slow start ends at the first loss, so the queue must have room for it: a
    /// queue of 60 ms, which is usual, is full before a target of 60 ms is exceeded.
    static let downloadTarget: Duration = .milliseconds(25)

    let target: Duration
    /// Three full packets.
    static let minBytes = 4608
    /// The default maximum of the kernel (`net.core.wmem_max` and `rmem_max`).
    static let maxBytes = 212_992

    init(target: Duration = ScavengerWindow.target) { self.target = target }

    /// Adds a measurement; there are 4 a second.
    /// - Parameters:
    ///   - roundTrip: smoothed; nil before the first.
    ///   - minRoundTrip: the known minimum to this destination; nil for none.
    ///   - unacknowledged: bytes in flight.
    /// - Returns: whether ``bytes`` has changed.
    mutating func update(roundTrip: Duration?, minRoundTrip: Duration?, unacknowledged: Int64) -> Bool {
        guard let roundTrip, let minRoundTrip else { return false }
        let queue = roundTrip - minRoundTrip
        let before = bytes
        if queue > target {
            let now = bytes ?? min(max(Int(unacknowledged), Self.minBytes), Self.maxBytes)
            // Down to half of the target at once. The bytes in flight are in proportion to the round trip, so this
            // does not empty the link.
            let share = max((minRoundTrip + target / 2) / roundTrip, 0.25)
            bytes = max(Int(Double(now) * share), Self.minBytes)
        } else if queue < target / 2, let now = bytes {
            // Grow slowly near the target. Without growth, one spike of a wireless link's round trip would count for
            // ever.
            bytes = min(Int(Double(now) * (queue < target / 4 ? 1.5 : 1.05)), Self.maxBytes)
        }
        return bytes != before
    }
}
