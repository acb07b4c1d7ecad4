internal import Commands
internal import Host
internal import NetworkControl
internal import Store

/// Settings: what people set with `sluice network set`, and what the next coordinator should know of each
/// link.
extension LinkMonitor {
    /// A row of a link's setting that is to be written.
    struct LinkSettingUpdate: Sendable {
        var key: LinkKey
        /// Of what the row says (``LinkLog/isNews(_:of:isActive:now:)``).
        var signature: String
        var value: String
    }

    /// Reaps and due times wait behind the settings of links, so these wait for another writer no longer than
    /// this.
    private static let timeout: Duration = .seconds(1)
    /// Settings that are taken in at the start, and in each later round.
    private static let restoredAtStart = 1000
    static let restoredPerRound = 50

    // MARK: Overrides

    func loadOverrides() {
        environment.store.read("The overrides of links cannot be read", isUrgent: true) { store throws(StoreError) in
            try store.settings(prefix: SettingKey.networkPrefix)
        } then: { [self] settings in
            override(settings)
        }
    }

    /// Takes in what people have set with `sluice network set`.
    func override(_ settings: [String: String]) {
        let now = MonotonicTime.now
        let new = LinkOverrideSetting.parse(settings).mapValues(\.override)
        guard new != overrides else { return }
        for destination in Set(overrides.keys).union(new.keys) {
            dispatch.dispatcher.links.override(destination, new[destination] ?? LinkOverride(), now: now)
        }
        overrides = new
        decideSoon()
    }

    // MARK: Links

    /// Takes in what the last coordinator left: as much as takes no time now, and the rest in the next rounds of the
    /// loop. With 20,000 settings, the first command after a start waited for seconds.
    func restore(_ settings: [String: String]) {
        watchedAt = settings[SettingKey.linkWatched].flatMap { Int64($0) }.map { Timestamp(milliseconds: $0) }
        unrestored = Array(settings)
        restoreSome(Self.restoredAtStart)
    }

    /// Takes in some of what is left.
    func restoreSome(_ maxCount: Int) {
        let (wall, now) = (environment.store.clock.now(), MonotonicTime.now)
        for (key, value) in unrestored.suffix(maxCount) {
            guard let link = StoredLink(setting: key, value: value, watchedAt: watchedAt, now: wall) else { continue }
            dispatch.dispatcher.links.restore(link.memory, of: link.key, now: now)
            log.offlineSince[link.key] = link.offlineSince
            log.known(link.key, link.signature, now: now)
            if let destination = link.key.destination, let circuitBreaker = link.circuitBreaker {
                dispatch.dispatcher.links.restore(circuitBreaker, of: destination, wall: wall, now: now)
            }
        }
        unrestored.removeLast(min(maxCount, unrestored.count))
    }

    /// - Returns: nil unless the setting of the link has to be written.
    func settingUpdate(
        of state: LinkState, isActive: Bool, _ controller: NetworkController, now: MonotonicTime
    ) -> LinkSettingUpdate? {
        let circuitBreaker = state.circuitBreaker?.map(clock())
        let signature = LinkLog.signature(
            state.level, isForced: state.isForced, circuitBreaker, hasRefusal: state.refusal != nil)
        // Update the stored setting once when a link goes idle; never create one for an idle link.
        guard
            isActive || state.level > .good || circuitBreaker != nil || state.isForced
                || log.differs(signature, of: state.key),
            log.isNews(signature, of: state.key, isActive: state.inFlight + state.highInFlight > 0, now: now)
        else { return nil }
        let value = StoredLink.setting(
            report(of: state, controller, withWaits: false, now: now), controller.history(of: state.key, now: now),
            now: environment.store.clock.now())
        return LinkSettingUpdate(key: state.key, signature: signature, value: value)
    }

    /// Writes all updates in one transaction: a network that goes down takes thousands of links with it.
    /// - Parameter isWatchedDue: write as well that a coordinator watches the links.
    func record(_ updates: [LinkSettingUpdate], isWatchedDue: Bool) {
        guard !updates.isEmpty || isWatchedDue else { return }
        environment.store.write("A link cannot be recorded") { store throws(StoreError) in
            try store.set(
                updates.map { (StoredLink.settingKey($0.key), $0.value) }
                    + [(SettingKey.linkWatched, "\(store.clock.now().milliseconds)")], timeout: Self.timeout)
        } otherwise: { [self] _ in
            let now = MonotonicTime.now
            for update in updates { log.failed(update.signature, of: update.key, now: now) }
        }
    }

    func removeSetting(of key: LinkKey) {
        let name = StoredLink.settingKey(key)
        environment.store.write("The setting of a link cannot be removed") { store throws(StoreError) in
            try store.set([(name, nil)], timeout: Self.timeout)
        }
    }
}

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

/// The record of each link for people: its last minute, and the state that its setting has. Pure.
struct LinkLog {
    private struct Entry {
        var history: [Double] = []
        /// Of the setting as it was written last.
        var signature = ""
        var writtenAt = MonotonicTime.zero
        /// Of the setting before the last write.
        var before = ""
    }

    /// Seconds.
    static let historyLength = 60
    /// The setting of an active link is written again after this time, for the rate that it carries.
    static let maxSilence: Duration = .seconds(60)
    /// From a failed write to the next.
    private static let retryPause: Duration = .seconds(5)

    private var entries: [LinkKey: Entry] = [:]
    private var nextSecond = MonotonicTime.zero
    private var nextWrite = MonotonicTime.zero
    private var nextWatched = MonotonicTime.zero
    /// When links went offline, by the wall clock; survives restarts.
    var offlineSince: [LinkKey: Timestamp] = [:]

    /// Goodput in bytes per second of each of the last seconds, the oldest first.
    func history(of key: LinkKey) -> [Double] { entries[key]?.history ?? [] }

    /// Whether a second has passed since it was true last.
    mutating func isSecondOver(now: MonotonicTime) -> Bool {
        guard now >= nextSecond else { return false }
        nextSecond = now + .milliseconds(990)
        return true
    }

    /// A link that carries nothing has no history: of 20,000 that are dead, the zeros would take 10 MB.
    mutating func add(_ goodput: Double, to key: LinkKey) {
        guard goodput != 0 || entries[key]?.history.isEmpty == false else { return }
        var entry = entries[key] ?? Entry()
        entry.history.append(goodput)
        if entry.history.count > Self.historyLength { entry.history.removeFirst() }
        if entry.history.allSatisfy({ $0 == 0 }) { entry.history = [] }
        entries[key] = entry
    }

    /// Whether a link's setting has to be written.
    /// - Parameter isActive: the rate of the link is news after ``maxSilence``, also where its level is the
    ///   same.
    mutating func isNews(_ signature: String, of key: LinkKey, isActive: Bool, now: MonotonicTime) -> Bool {
        guard now >= nextWrite else { return false }
        var entry = entries[key] ?? Entry()
        guard entry.signature != signature || isActive && now - entry.writtenAt >= Self.maxSilence else {
            return false
        }
        entry.before = entry.signature
        entry.signature = signature
        entry.writtenAt = now
        entries[key] = entry
        return true
    }

    /// Whether the time has to be written at which a coordinator watched the links.
    mutating func isWatchedDue(now: MonotonicTime) -> Bool {
        guard now >= max(nextWatched, nextWrite) else { return false }
        nextWatched = now + Self.maxSilence
        return true
    }

    /// The setting could not be written: it is news again after ``retryPause``.
    mutating func failed(_ signature: String, of key: LinkKey, now: MonotonicTime) {
        nextWrite = now + Self.retryPause
        guard var entry = entries[key], entry.signature == signature else { return }
        entry.signature = entry.before
        entry.writtenAt = now - Self.maxSilence
        entries[key] = entry
    }

    /// The setting was written and says something else.
    func differs(_ signature: String, of key: LinkKey) -> Bool {
        entries[key].map { !$0.signature.isEmpty && $0.signature != signature } ?? false
    }

    /// Another coordinator left a setting of the link. Where it says the same as before, it is not written again: after a
    /// restart beside 20,000 destinations, that took seconds.
    mutating func known(_ key: LinkKey, _ signature: String, now: MonotonicTime) {
        entries[key] = Entry(signature: signature, writtenAt: now)
    }

    /// The part of a setting that is worth a write.
    static func signature(
        _ level: LinkLevel, isForced: Bool, _ circuitBreaker: CircuitBreakerState<Timestamp>?, hasRefusal: Bool = false
    ) -> String {
        // People read the number while no coordinator counts, so only each doubling of it is worth a write.
        let waits = circuitBreaker.map { "\($0.cause) \(String($0.waiting, radix: 2).count)" }
        return "\(level) \(isForced) \(waits ?? (hasRefusal ? "refusal" : ""))"
    }

    /// No link was offline for longer because the wall clock jumped.
    mutating func wallClockJumped(by jump: Duration, to now: Timestamp) {
        offlineSince = offlineSince.mapValues { min($0 + jump, now) }
    }

    /// The controller has forgotten the link.
    mutating func forget(_ key: LinkKey) {
        entries[key] = nil
        offlineSince[key] = nil
    }
}
