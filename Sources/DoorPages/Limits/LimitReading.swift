internal import Commands
internal import Console
internal import Store

/// A rate limit with the commands that it concerns.
struct LimitReading: Sendable {
    var name: String
    /// Nil: it was removed, and ready commands still name it.
    var limit: RateLimit?
    var waiting = 0
    var running = 0

    /// All limits in the order of their names.
    static func all(_ store: any CommandStore) throws(StoreError) -> [LimitReading] {
        let limits = try store.rateLimits()
        let waiting = try store.mapShards(or: [:]) { shard throws(StoreError) in try store.readyCounts(shard: shard) }
            .reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
        guard !limits.isEmpty || !waiting.isEmpty else { return [] }
        var running: [String: Int] = [:]
        let claimed = try store.mapShards(or: []) { shard throws(StoreError) in try store.claimed(shard: shard) }
        for command in claimed.joined() {
            if let limit = command.limit { running[limit, default: 0] += 1 }
        }
        return Set(limits.keys).union(waiting.keys).sorted().map { name in
            LimitReading(
                name: name, limit: limits[name], waiting: waiting[name] ?? 0, running: running[name] ?? 0)
        }
    }

    /// The reason of the wait, for a person; empty where nothing waits.
    var state: String {
        guard waiting > 0 else { return "" }
        guard let limit else { return "removed: make it again, and they start" }
        if let atOnce = limit.atOnce, running >= atOnce { return "full: each waits for one that ends" }
        let seconds = Double(waiting) / Double(limit.starts.count) * limit.starts.period.duration.seconds
        return "the last starts in \(Duration.seconds(seconds).shortText)"
    }
}
