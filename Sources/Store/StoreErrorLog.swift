package import Host

/// Which errors of the store are worth a log line. Pure.
///
/// A damaged shard stays damaged until a person mends it, so its error is logged once. Every other cause is logged once a
/// minute, because a write is tried again several times a second: a shard that another process keeps locked, a full disk
/// or a server that is away, whichever shard meets it, and any other message.
package struct StoreErrorLog: Sendable {
    /// Messages of damaged shards.
    private var logged: Set<String> = []
    /// When each cause was logged last; those of the last minute.
    private var loggedAt: [String: MonotonicTime] = [:]

    package static let interval: Duration = .seconds(60)

    package init() {}

    package mutating func isNew(_ error: StoreError, now: MonotonicTime) -> Bool {
        if error.code.makesShardUnusable { return logged.insert(error.message).inserted }
        let cause =
            switch error.code {
            case .full: "full"
            case .unknown: "unknown"
            case .unreachable: "unreachable"
            case .busy: "busy \(error.shard ?? -1)"
            default: error.message
            }
        loggedAt = loggedAt.filter { now - $0.value < Self.interval }
        guard loggedAt[cause] == nil else { return false }
        loggedAt[cause] = now
        return true
    }
}
