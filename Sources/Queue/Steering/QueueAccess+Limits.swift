package import Commands
internal import Console
package import Store
internal import Wire

/// A change of a rate limit. A field that is nil keeps its value.
package struct RateLimitChange: Sendable, Equatable {
    package var starts: StartRate?
    /// 1…``StartRate/maxBurst``; `.some(nil)` is the default of ``starts``.
    package var burst: Int??
    /// 1…``RateLimit/maxAtOnce``; `.some(nil)`: any number.
    package var atOnce: Int??

    package init() {}

    /// Every field of a limit.
    package init(to limit: RateLimit) {
        (starts, burst, atOnce) = (limit.starts, .some(limit.burst), .some(limit.atOnce))
    }

    /// The limit after the change; nil where there is none before, and the change has no ``starts``. Pure.
    package func apply(to before: RateLimit?) -> RateLimit? {
        guard let starts = starts ?? before?.starts else { return nil }
        var limit = before ?? RateLimit(starts: starts)
        limit.starts = starts
        if let burst { limit.burst = burst }
        if let atOnce { limit.atOnce = atOnce }
        return limit
    }
}

/// A rate limit with the number of commands that it concerns.
package struct RateLimitReading: Sendable {
    package var name: String
    /// Nil: it was removed, and ready commands still name it.
    package var limit: RateLimit?
    /// Commands that are ready and wait for it.
    package var waiting = 0
    /// Commands that a worker holds.
    package var running = 0

    /// For `--json` and the API.
    package var members: [JSONValue.Member] {
        let members =
            limit.map { LimitText.members(name, $0) } ?? [
                .init("name", .string(name)), .init("starts", .null), .init("burst", .null), .init("atOnce", .null),
            ]
        return members + [.init("waiting", .integer(Int64(waiting))), .init("running", .integer(Int64(running)))]
    }

    /// The reason of the wait, for a person; empty where nothing waits.
    package var state: String {
        guard waiting > 0 else { return "" }
        guard let limit else { return "removed: make it again, and they start" }
        if let atOnce = limit.atOnce, running >= atOnce { return "full: each waits for one that ends" }
        let seconds = Double(waiting) / Double(limit.starts.count) * limit.starts.period.duration.seconds
        return "the last starts in \(Duration.seconds(seconds).shortText)"
    }
}

/// A rate limit, and the commands that wait longest for it.
package struct RateLimitDetails: Sendable {
    package var reading: RateLimitReading
    package var next: [Command] = []
    /// The destinations and qualities of service of all that wait.
    package var keys: [ReadyKey] = []

    /// For `--json` and the API.
    package var json: JSONValue {
        .object(
            reading.members + [
                .init(
                    "of",
                    .array(
                        keys.map { key in
                            ["destination": .string(key.destination.text), "qos": .string(key.qos.name)]
                        })),
                .init("next", .array(next.map(\.json))),
            ])
    }
}

/// A rate limit that was removed, and what still names it.
package struct RemovedRateLimit: Sendable, Equatable {
    /// Ready commands.
    package var waiting: Int
    /// Names of schedules whose commands will wait.
    package var schedules: [String]
}

extension QueueAccess {
    /// The rate limits, by name.
    package func limits() throws(StoreError) -> [String: RateLimit] { try store.rateLimits() }

    /// The rate limits, and those that were removed while ready commands name them, by name.
    package func rateLimits() throws(StoreError) -> [RateLimitReading] {
        let limits = try store.rateLimits()
        let waiting = try waitingForLimits()
        guard !limits.isEmpty || !waiting.isEmpty else { return [] }
        var running: [String: Int] = [:]
        let claimed = try store.claimed()
        for command in claimed.joined() {
            if let limit = command.limit { running[limit, default: 0] += 1 }
        }
        return Set(limits.keys).union(waiting.keys).sorted().map { name in
            RateLimitReading(
                name: name, limit: limits[name], waiting: waiting[name] ?? 0, running: running[name] ?? 0)
        }
    }

    /// A rate limit with the commands that wait longest for it.
    /// - Parameter shown: how many of these.
    /// - Returns: nil where there is none of that name, and no ready command names it.
    package func limitDetails(of name: String, shown: Int = 10) throws(StoreError) -> RateLimitDetails? {
        guard let reading = try rateLimits().first(where: { $0.name == name }) else { return nil }
        guard reading.waiting > 0 else { return RateLimitDetails(reading: reading) }
        let (next, keys) = try waiting(forLimit: name, limit: shown)
        return RateLimitDetails(reading: reading, next: next, keys: keys)
    }

    /// The commands that wait longest for a rate limit, of each destination and quality of service.
    /// - Returns: the commands, at most `limit`, and all destinations and qualities of service.
    private func waiting(
        forLimit name: String, limit: Int
    ) throws(StoreError) -> (commands: [Command], keys: [ReadyKey]) {
        var ids: [CommandID] = []
        var keys: Set<ReadyKey> = []
        for shard in 0..<store.shardCount {
            for key in try store.limitedKeys(shard: shard) where key.limit == name {
                keys.insert(key)
                ids += try store.ready(shard: shard, key: key, afterTurn: 0, limit: limit).map(\.id)
            }
        }
        var commands: [Command] = []
        for id in ids.sorted().prefix(limit) { if let command = try store.command(id) { commands.append(command) } }
        return (commands, keys.sorted { ($0.destination.text, $0.qos.name) < ($1.destination.text, $1.qos.name) })
    }

    /// Makes a rate limit, or changes it, in one transaction. It acts at once. A new one begins without tokens.
    /// - Precondition: `RateLimit.isName(name)`, and the values are in their ranges.
    /// - Returns: the limit; nil where it is new and the change does not say how many may start. Nothing is written then.
    package func changeRateLimit(_ name: String, _ change: RateLimitChange) throws(StoreError) -> RateLimit? {
        var result: RateLimit?
        var isChanged = false
        try store.update(SettingKey.limit(name)) { stored in
            let before = stored.flatMap { RateLimit(setting: $0) }
            result = change.apply(to: before)
            isChanged = result != nil && result != before
            return isChanged ? result?.json.text : stored
        }
        if isChanged { hint(.settingsChanged, []) }
        return result
    }

    /// Removes a rate limit. Commands that name it wait until one of that name is set again.
    /// - Returns: nil where there is none.
    package func removeRateLimit(_ name: String) throws(StoreError) -> RemovedRateLimit? {
        guard try store.rateLimits()[name] != nil else { return nil }
        try store.removeRateLimit(name)
        hint(.settingsChanged, [])
        return RemovedRateLimit(
            waiting: try waitingForLimits()[name] ?? 0,
            schedules: try store.schedules().filter { $0.action.limits.contains(name) }.map(\.name))
    }

    /// The ready commands of each rate limit.
    private func waitingForLimits() throws(StoreError) -> [String: Int] {
        try store.mapShards(or: [:]) { shard throws(StoreError) in try store.readyCounts(shard: shard) }
            .reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
    }
}
