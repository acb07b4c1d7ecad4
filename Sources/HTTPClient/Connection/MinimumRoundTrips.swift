internal import NIOCore

/// The minimum round trip to each address in the last 5 to 10 minutes. A connection that begins behind a full
/// queue never measures the true minimum itself. RFC 6817 forgets base delays in the same way, because routes
/// change. Pure.
struct MinimumRoundTrips {
    private var recent: [SocketAddress: Int64] = [:]
    private var older: [SocketAddress: Int64] = [:]
    private var turnedAt: NIODeadline?

    private static let half: TimeAmount = .minutes(5)

    /// - Parameter roundTrip: in microseconds; 0 where none is known yet.
    /// - Returns: the known minimum in microseconds; 0 for none.
    mutating func add(_ roundTrip: Int64, to address: SocketAddress, now: NIODeadline) -> Int64 {
        if now - (turnedAt ?? now) > Self.half { (older, recent, turnedAt) = (recent, [:], now) }
        turnedAt = turnedAt ?? now
        if roundTrip > 0 { recent[address] = min(recent[address] ?? .max, roundTrip) }
        let minimum = min(recent[address] ?? .max, older[address] ?? .max)
        return minimum == .max ? 0 : minimum
    }
}
