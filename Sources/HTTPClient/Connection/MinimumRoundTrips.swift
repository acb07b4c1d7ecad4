internal import NIOCore

/// The minimum round trip to each address in the last 5 to 10 minutes. A connection that begins behind a full
/// queue never measures the true minimum itself. RFC 6817 forgets base delays in the same way, because routes
/// change. Pure.
struct MinimumRoundTrips {
    private var recent: [SocketAddress: Duration] = [:]
    private var older: [SocketAddress: Duration] = [:]
    private var turnedAt: NIODeadline?

    private static let half: TimeAmount = .minutes(5)

    /// - Parameter roundTrip: nil where none is known yet.
    /// - Returns: the known minimum; nil for none.
    mutating func add(_ roundTrip: Duration?, to address: SocketAddress, now: NIODeadline) -> Duration? {
        if now - (turnedAt ?? now) > Self.half { (older, recent, turnedAt) = (recent, [:], now) }
        turnedAt = turnedAt ?? now
        if let roundTrip { recent[address] = min(recent[address] ?? roundTrip, roundTrip) }
        return [recent[address], older[address]].compactMap { $0 }.min()
    }
}
