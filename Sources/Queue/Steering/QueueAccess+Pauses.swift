package import Commands
package import NetworkControl
package import Store
internal import Wire

/// Pauses of people: nothing new begins; running commands continue.
extension QueueAccess {
    /// Pauses, in one transaction. It acts at once.
    /// - Returns: the pause that holds, and whether it is new: an earlier one of the same scope keeps its time.
    package func pause(_ pause: Pause) throws(StoreError) -> (pause: Pause, isNew: Bool) {
        var since = pause.since
        var isNew = false
        try store.update(pause.key) { stored in
            isNew = stored == nil
            since = stored ?? pause.since
            return since
        }
        if isNew { hint(.settingsChanged, []) }
        return (Pause(qos: pause.qos, destination: pause.destination, since: since), isNew)
    }

    /// Ends pauses, in one transaction.
    /// - Parameter scope: of the pause that ends; its time does not count. Nil: every pause.
    /// - Returns: those that have ended.
    package func resume(_ scope: Pause?) throws(StoreError) -> [Pause] {
        let stored = Pause.parse(try store.settings(prefix: SettingKey.pausePrefix))
        let ended = stored.filter { scope == nil || $0.key == scope?.key }
        guard !ended.isEmpty else { return [] }
        try store.set(ended.map { ($0.key, nil) }, timeout: WriteTimeout.foreground)
        hint(.settingsChanged, [])
        return ended
    }

    /// Tells the coordinator once more that settings have changed: a hint may be lost, and the next sweep takes 5 s.
    package func remindOfSettings() { hint(.settingsChanged, []) }
}

extension QueueAccess {
    /// The number of commands under a pause that living workers hold. Those of a dead worker do not run.
    package func running(under pause: Pause) throws(StoreError) -> Int {
        let alive = Set(try store.sessions().filter { isAlive($0) }.map(\.epoch))
        let claimed = try store.claimed()
        return claimed.joined().count { row in
            alive.contains(row.epoch) && (pause.qos ?? row.qos) == row.qos
                && (pause.destination ?? row.destination) == row.destination
        }
    }
}

extension Pause {
    /// `everything`, `background commands to https://host:443`
    package var scope: String {
        switch (qos, destination) {
        case (nil, nil): "everything"
        case (let qos?, nil): "\(qos) commands"
        case (nil, let destination?): "commands to \(destination)"
        case (let qos?, let destination?): "\(qos) commands to \(destination)"
        }
    }

    package var sentence: String { "\(scope), since \(since)" }

    /// The command line that lifts the pause.
    package var resume: String {
        "sluice resume" + (qos.map { " --qos \($0)" } ?? "") + (destination.map { " --destination \($0)" } ?? "")
    }

    package var json: JSONValue {
        .object([
            .init("qos", qos.map { .string($0.name) } ?? .null),
            .init("destination", destination.map { .string($0.text) } ?? .null), .init("since", .string(since)),
        ])
    }
}

/// A change of the settings that a person makes for a destination. A field that is nil keeps its value.
package struct LinkOverrideChange: Sendable, Equatable {
    package var isOffline: Bool?
    /// Bytes per second; `.some(nil)` removes the limit.
    package var maxRate: Int64??
    /// `.some(nil)` removes the limit.
    package var starts: StartRate??
    /// `.some(nil)` is the default of ``starts``.
    package var burst: Int??

    package init() {}

    /// The setting after the change. Pure.
    /// - Parameter before: nil without a setting.
    /// - Returns: the override, and its setting: nil where everything has its default.
    package func apply(
        to before: LinkOverrideSetting?, now: Timestamp
    ) -> (override: LinkOverride, setting: LinkOverrideSetting?) {
        var override = before?.override ?? LinkOverride()
        if let isOffline { override.isOffline = isOffline }
        if let maxRate { override.maxRate = maxRate }
        if let starts { override.starts = starts }
        if let burst { override.burst = burst }
        if override.starts == nil { override.burst = nil }
        guard override != LinkOverride() else { return (override, nil) }
        if let before, before.override == override { return (override, before) }
        return (override, LinkOverrideSetting(override, since: now))
    }
}

extension QueueAccess {
    /// Nil where a destination has its defaults.
    package func overrideSetting(of destination: Destination) throws(StoreError) -> LinkOverrideSetting? {
        try store.setting(LinkOverrideSetting.key(destination)).flatMap { LinkOverrideSetting(setting: $0) }
    }

    /// Changes the settings of a destination in one transaction. It acts at once.
    package func changeLink(
        to destination: Destination, _ change: LinkOverrideChange
    ) throws(StoreError) -> (override: LinkOverride, setting: LinkOverrideSetting?) {
        var result = (override: LinkOverride(), setting: LinkOverrideSetting?.none)
        var isChanged = false
        try store.update(LinkOverrideSetting.key(destination)) { stored in
            let before = stored.flatMap { LinkOverrideSetting(setting: $0) }
            result = change.apply(to: before, now: now)
            isChanged = result.setting != before
            return result.setting?.setting
        }
        if isChanged { hint(.settingsChanged, []) }
        return result
    }
}

extension LinkOverride {
    /// For `--json` and the API.
    /// - Parameter setting: nil where everything has its default.
    package func json(of destination: Destination, _ setting: LinkOverrideSetting?) -> JSONValue {
        .object([
            .init("destination", .string(destination.text)), .init("level", .string(isOffline ? "offline" : "auto")),
            .init("maxRate", maxRate.map { .integer($0) } ?? .null),
            .init("starts", starts.map { .string($0.description) } ?? .null),
            .init("burst", burst.map { .integer(Int64($0)) } ?? .null),
            .init("since", (setting?.since).map { .string($0.description) } ?? .null),
        ])
    }
}
