internal import Commands
internal import NetworkControl

/// A link as its setting describes it.
struct StoredLink {
    var key: LinkKey
    var memory: LinkHistory
    /// When it went offline, moved ahead by the time in which no coordinator watched and so no command tried
    /// to reach it.
    var offlineSince: Timestamp?
    /// Of the destination, unless traffic flowed.
    var circuitBreaker: StoredCircuitBreaker?

    /// A setting that is older says nothing about the link's level now.
    private static let memory: Duration = .seconds(120)
    /// Bounds for a damaged setting: a terabyte a second, and more transfers than a host runs.
    private static let maxBytes: Int64 = 1_000_000_000_000
    private static let maxTransfers: Int64 = 1024

    /// Nil for a setting that does not describe a link.
    /// - Parameter watchedAt: when a coordinator watched the links last; nil where that is not known.
    init?(setting key: String, value: String, watchedAt: Timestamp? = nil, now: Timestamp = .now) {
        let parts = key.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let direction = Direction(rawValue: String(parts[1])),
            let value = try? JSONValue(parsing: value.utf8)
        else { return nil }
        let name = String(parts[2])
        self.key =
            name.hasPrefix("*")
            ? LinkKey(.uplink(String(name.dropFirst())), direction)
            : LinkKey(Destination(unchecked: name), direction)
        let isOffline = value["level"]?.string == LinkLevel.offline.name && value["forced"]?.bool != true
        memory = LinkHistory(
            reference: Double(min(max(value["reference"]?.integer ?? 0, 0), Self.maxBytes)),
            flows: Int(min(max(value["flows"]?.integer ?? 1, 1), Self.maxTransfers)),
            limit: Int(min(max((value["measuredLimit"] ?? value["limit"])?.integer ?? 1, 1), Self.maxTransfers)),
            offline: isOffline ? value["reason"]?.string ?? "offline when the last coordinator ended" : nil)
        let writtenAt = Timestamp(milliseconds: value["writtenAt"]?.integer ?? 0)
        if now - writtenAt < Self.memory, let name = value["level"]?.string {
            memory.level = LinkLevel.allCases.first { $0.name == name }
            memory.reason = value["reason"]?.string
        }
        circuitBreaker = value["circuitBreaker"].flatMap { StoredCircuitBreaker($0) }
        guard isOffline, let since = value["since"]?.integer else { return }
        let unwatched = now - max(writtenAt, watchedAt ?? .zero) - LinkLog.maxSilence
        offlineSince = min(Timestamp(milliseconds: since) + max(unwatched, .zero), now)
    }
}
