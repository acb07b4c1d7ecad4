internal import Commands
internal import Host
internal import NetworkControl

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
