package import Commands
package import Host

/// Settings, which shard 0 keeps; see ``SettingKey``.
package protocol SettingStore: ShardedStore {
    /// Writes settings. A nil value removes the key.
    /// - Parameter timeout: how long to wait for the write lock that another process holds.
    /// - Throws: `busy` after `timeout`.
    func set(_ settings: [(key: String, value: String?)], timeout: Duration) throws(StoreError)
    /// Replaces the value of one setting in a transaction, so that no write of another process is lost
    /// between the read and the write.
    /// - Parameters:
    ///   - timeout: how long to wait for the write lock that another process holds.
    ///   - change: gets the value, nil where there is none, and returns the new one, nil to remove the key.
    /// - Throws: `busy` after `timeout`.
    func update(_ key: String, timeout: Duration, _ change: (String?) -> String?) throws(StoreError)
    /// The value of one setting; nil where there is none.
    func setting(_ key: String) throws(StoreError) -> String?
    /// Settings whose key starts with `prefix`.
    func settings(prefix: String) throws(StoreError) -> [String: String]
    /// Whether the wall clock is not trusted for ages and deadlines, see ``ClockHold``.
    var isClockHeld: Bool { get }
}

extension SettingStore {
    package var isClockHeld: Bool { (try? clockHold()) != nil }

    /// Writes one setting. Waits for other writes as long as a submit does.
    package func set(_ key: String, to value: String?) throws(StoreError) {
        try set([(key, value)], timeout: WriteTimeout.foreground)
    }

    /// Replaces the value of one setting. Waits for other writes as long as a submit does.
    package func update(_ key: String, _ change: (String?) -> String?) throws(StoreError) {
        try update(key, timeout: WriteTimeout.foreground, change)
    }

    /// The rate limits that exist, by name. A setting of another form is left out.
    package func rateLimits() throws(StoreError) -> [String: RateLimit] {
        RateLimit.parse(try settings(prefix: SettingKey.limitPrefix))
    }

    /// Removes a rate limit and the state of its bucket. Commands that name it wait until it is set again.
    package func removeRateLimit(_ name: String) throws(StoreError) {
        try set(
            [(SettingKey.limit(name), nil), (SettingKey.tokens(ofLimit: name), nil)], timeout: WriteTimeout.foreground)
    }

    /// The hold that the coordinator has written and that is in force; nil without one, and where the first shard, which has
    /// the settings, is unusable: the other shards go on.
    package func clockHold(now: MonotonicTime = .now) throws(StoreError) -> ClockHold? {
        do throws(StoreError) {
            let hold = try setting(SettingKey.clockHold).flatMap { ClockHold(setting: $0) }
            return hold.flatMap { $0.stands(now: now) ? $0 : nil }
        } catch {
            guard error.code.makesShardUnusable else { throw error }
            return nil
        }
    }
}

extension RateLimit {
    /// Reads the settings with the prefix ``SettingKey/limitPrefix``.
    package static func parse(_ settings: [String: String]) -> [String: RateLimit] {
        var limits: [String: RateLimit] = [:]
        for (key, value) in settings {
            let name = String(key.dropFirst(SettingKey.limitPrefix.count))
            guard isName(name), let limit = RateLimit(setting: value) else { continue }
            limits[name] = limit
        }
        return limits
    }
}
