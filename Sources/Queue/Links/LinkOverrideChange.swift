package import Commands
package import NetworkControl
package import Store
internal import Wire

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
