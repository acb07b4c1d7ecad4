internal import Door

/// The limits of the streams of a door. Where all clients together have their maximum, a token with fewer streams than
/// another gets one of it, so that no token keeps the others out.
struct StreamLimits: Sendable {
    /// Streams of all clients.
    var maxStreams = 1000
    /// Streams of one token, with its sessions.
    var maxStreamsOfToken = 600
    /// Streams `log` of all clients: each reads the store while it catches up.
    var maxLogs = 64
    /// Streams `log` of one token.
    var maxLogsOfToken = 16
    /// A write that waits longer for its client ends the stream.
    var maxWrite: Duration = .seconds(5)
    /// The send buffer of the kernel, in bytes.
    var sendBuffer = 128 << 10
}

/// Decides whether a token gets one more of the streams of a door. Pure.
struct StreamShares: Sendable {
    enum Verdict: Sendable, Equatable {
        case admit, refuse
        /// Another stream ends, and the new one takes its room.
        case displace(Int)
    }

    /// The owners of the streams by their numbers, which rise.
    private let owners: [Int: String]
    private let max: Int
    private let maxOfToken: Int

    init(_ owners: [Int: String], max: Int, maxOfToken: Int) {
        self.owners = owners
        self.max = max
        self.maxOfToken = maxOfToken
    }

    init(of streams: [Int: EventStream], max: Int, maxOfToken: Int) {
        self.init(streams.mapValues(\.principal.owner), max: max, maxOfToken: maxOfToken)
    }

    /// A token beyond its own share is refused: if its oldest stream ended instead, that client would connect again and end
    /// the next one. Where all have the maximum, the newest stream of the token that has most ends, if that still leaves it
    /// as many as the new stream's token then has; the refusals of the displaced client then hold.
    func verdict(for owner: String) -> Verdict {
        let counts = owners.values.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        let own = counts[owner] ?? 0
        guard own < maxOfToken else { return .refuse }
        guard owners.count >= max else { return .admit }
        guard let largest = counts.max(by: { ($0.value, $0.key) < ($1.value, $1.key) }), largest.value >= own + 2,
            let newest = owners.filter({ $0.value == largest.key }).keys.max()
        else { return .refuse }
        return .displace(newest)
    }
}
