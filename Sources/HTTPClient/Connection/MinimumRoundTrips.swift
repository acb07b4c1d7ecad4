internal import NIOCore

/// What the connections and transfers of one event loop know of each other. Confined to that loop.
final class ConnectionBoard {
    /// The connection that wrote a request head last. The client tells a request's delegate in the same turn of the loop
    /// that its head was sent, but not where; this is how it learns.
    var latest: ConnectionWatch?
    /// Transfers under way; they share the memory for chunks.
    var transfers = 0
    private var leastRoundTrips = LeastRoundTrips()
    /// Connections that are kept for the next request.
    private var kept: [ObjectIdentifier: ConnectionWatch] = [:]

    func keep(_ watch: ConnectionWatch) { kept[ObjectIdentifier(watch)] = watch }

    func take(_ watch: ConnectionWatch) { kept[ObjectIdentifier(watch)] = nil }

    /// One kept connection to that address turned out to be dead, and so most likely are the others.
    func closeKept(to address: SocketAddress?) {
        for watch in kept.values where watch.peer == address { watch.closeKept() }
    }

    /// The least round trip to an address in microseconds, with one more measure of it.
    func least(_ roundTrip: Int64, to address: SocketAddress?) -> Int64 {
        address.map { leastRoundTrips.add(roundTrip, to: $0, now: .now()) } ?? roundTrip
    }
}

/// The least round trips of the last 5 to 10 minutes, by address: a connection that begins behind a full queue has never
/// seen one itself. RFC 6817 forgets them likewise, because routes change.
struct LeastRoundTrips {
    private var recent: [SocketAddress: Int64] = [:]
    private var older: [SocketAddress: Int64] = [:]
    private var turnedAt: NIODeadline?

    private static let half: TimeAmount = .minutes(5)

    /// - Parameter roundTrip: in microseconds; 0 where none is known yet.
    /// - Returns: the least known; 0 for none.
    mutating func add(_ roundTrip: Int64, to address: SocketAddress, now: NIODeadline) -> Int64 {
        if now - (turnedAt ?? now) > Self.half { (older, recent, turnedAt) = (recent, [:], now) }
        turnedAt = turnedAt ?? now
        if roundTrip > 0 { recent[address] = min(recent[address] ?? .max, roundTrip) }
        let least = min(recent[address] ?? .max, older[address] ?? .max)
        return least == .max ? 0 : least
    }
}
