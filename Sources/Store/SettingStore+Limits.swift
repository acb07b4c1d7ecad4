package import Commands

extension SettingStore {
    /// The rate limits that exist, by name. A setting of another form is left out.
    package func rateLimits() throws(StoreError) -> [String: RateLimit] {
        RateLimit.parse(try settings(prefix: SettingKey.limitPrefix))
    }

    /// Removes a rate limit and the state of its bucket. Commands that name it wait until it is set again.
    package func removeRateLimit(_ name: String) throws(StoreError) {
        try set(
            [(SettingKey.limit(name), nil), (SettingKey.tokens(ofLimit: name), nil)], timeout: WriteTimeout.foreground)
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
