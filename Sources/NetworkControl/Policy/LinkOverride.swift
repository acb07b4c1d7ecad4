package import Commands

/// The setting of a person by `sluice network set`. The store has it, so it survives a restart.
package struct LinkOverride: Sendable, Equatable {
    /// Nothing is sent there until a person sets `auto`.
    package var isOffline = false
    /// Bytes per second; overrides the policy's.
    package var maxRate: Int64?
    /// Starts of commands in a time; overrides the policy's.
    package var starts: StartRate?
    /// Of ``starts``.
    package var burst: Int?

    package init(isOffline: Bool = false, maxRate: Int64? = nil) {
        self.isOffline = isOffline
        self.maxRate = maxRate
    }
}

/// The override that a person set with `sluice network set`, as the setting `network.<destination>`:
/// `{"level":"offline"|"auto","maxRate":bytes per second|null,"since":Unix milliseconds}`, where they are set also
/// with `"starts":"100/min"` and `"burst":10`.
package struct LinkOverrideSetting: Sendable, Equatable {
    package var override: LinkOverride
    /// When it was set.
    package var since: Timestamp

    package init(_ override: LinkOverride, since: Timestamp) {
        self.override = override
        self.since = since
    }

    package static func key(_ destination: Destination) -> String { SettingKey.network(destination) }

    /// The destination of a key; nil for a key of another form.
    package static func destination(of key: String) -> Destination? {
        guard key.hasPrefix(SettingKey.networkPrefix),
            let destination = Destination(key.dropFirst(SettingKey.networkPrefix.count)),
            self.key(destination) == key
        else { return nil }
        return destination
    }

    /// Reads a value back; nil for a value of another form.
    package init?(setting: String) {
        guard let value = try? JSONValue(parsing: setting.utf8), let level = value["level"]?.string else { return nil }
        override = LinkOverride(
            isOffline: level == "offline",
            maxRate: value["maxRate"]?.integer.flatMap { (1...1_000_000_000_000).contains($0) ? $0 : nil })
        override.starts = value["starts"]?.string.flatMap { StartRate(text: $0) }
        if override.starts != nil {
            override.burst = value["burst"]?.integer.flatMap { Int(exactly: $0) }
                .flatMap { (1...StartRate.maxBurst).contains($0) ? $0 : nil }
        }
        since = Timestamp(milliseconds: value["since"]?.integer ?? 0)
    }

    package var setting: String {
        var members: [JSONValue.Member] = [
            .init("level", .string(override.isOffline ? "offline" : "auto")),
            .init("maxRate", override.maxRate.map { .integer($0) } ?? .null),
            .init("since", .integer(since.milliseconds)),
        ]
        if let starts = override.starts {
            members.append(.init("starts", .string(starts.description)))
            if let burst = override.burst { members.append(.init("burst", .integer(Int64(burst)))) }
        }
        return JSONValue.object(members).text
    }

    /// Reads all overrides of the settings. One that cannot be read holds back no command.
    package static func parse(_ settings: [String: String]) -> [Destination: LinkOverrideSetting] {
        var overrides: [Destination: LinkOverrideSetting] = [:]
        for (key, value) in settings {
            guard let destination = destination(of: key), let setting = Self(setting: value) else { continue }
            overrides[destination] = setting
        }
        return overrides
    }
}
