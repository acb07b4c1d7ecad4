internal import Commands
internal import NetworkControl
internal import Store

/// A link as its setting describes it.
struct StoredLink {
    var key: LinkKey
    var memory: LinkHistory
    /// When it went offline, moved ahead by the time in which no coordinator watched and so no command tried
    /// to reach it.
    var offlineSince: Timestamp?
    /// Of the destination, unless traffic flowed.
    var circuitBreaker: CircuitBreakerState<Timestamp>?
    /// Of the state that the setting has (``LinkLog/signature(_:isForced:_:hasRefusal:)``).
    var signature: String

    /// A setting that is older says nothing about the link's level now.
    private static let memory: Duration = .seconds(120)
    /// Bounds for a damaged setting: a terabyte a second, and more transfers than a host runs.
    private static let maxBytes: Int64 = 1_000_000_000_000
    private static let maxTransfers: Int64 = 1024

    static func settingKey(_ key: LinkKey) -> String { SettingKey.link(key.direction, key.name) }

    /// The value of a link's setting, with what the next coordinator should know.
    static func setting(_ report: LinkReport, _ memory: LinkHistory?, now: Timestamp) -> String {
        // The next coordinator starts without held slots, and with its own waits.
        var members = report.members.filter { $0.name != "waits" && $0.name != "failureWait" }
        if let memory {
            members.append(.init("flows", .integer(Int64(memory.flows))))
            // `limit` is the number that may run, which is 0 while the link is offline.
            members.append(.init("measuredLimit", .integer(Int64(memory.limit))))
        }
        members.append(.init("writtenAt", .integer(now.milliseconds)))
        return JSONValue.object(members).text
    }

    /// Nil for a setting that does not describe a link.
    /// - Parameters:
    ///   - watchedAt: when a coordinator watched the links last; nil where that is not known.
    ///   - now: by the clock of the store, as the times in the setting.
    init?(setting key: String, value: String, watchedAt: Timestamp? = nil, now: Timestamp) {
        let parts = key.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let direction = Direction(rawValue: String(parts[1])),
            let value = try? JSONValue(parsing: value.utf8)
        else { return nil }
        let name = String(parts[2])
        self.key = LinkKey(name: name, direction)
        // The wait reasons are computed again; parsing them takes most of the time.
        let kept = value.members?.filter { $0.name != "gates" && $0.name != "history" }
        let report = LinkReport(destination: name, body: kept.map { .object($0) } ?? value)
        let isOffline = report?.level == .offline && report?.isForced != true
        memory = LinkHistory(
            reference: Double(min(max(report?.reference ?? 0, 0), Self.maxBytes)),
            flows: Int(min(max(value["flows"]?.integer ?? 1, 1), Self.maxTransfers)),
            limit: Int(min(max((value["measuredLimit"] ?? value["limit"])?.integer ?? 1, 1), Self.maxTransfers)),
            offline: isOffline ? report?.reason ?? LinkReason(.unmeasured) : nil)
        let writtenAt = Timestamp(milliseconds: value["writtenAt"]?.integer ?? 0)
        if now - writtenAt < Self.memory, let report {
            memory.level = report.level
            memory.reason = report.reason
        }
        circuitBreaker = report?.circuitBreaker
        signature = LinkLog.signature(
            report?.level ?? .unknown, isForced: report?.isForced ?? false, report?.circuitBreaker,
            hasRefusal: report?.refusal != nil)
        guard isOffline, let since = report?.since else { return }
        let unwatched = now - max(writtenAt, watchedAt ?? .zero) - LinkLog.maxSilence
        offlineSince = min(since + max(unwatched, .zero), now)
    }
}
