internal import Commands
internal import NetworkControl

/// What is kept of each link for people: its last minute, and what stands in its setting. Pure.
struct LinkLog {
    private struct Entry {
        var history: [Double] = []
        var signature = ""
        var writtenAt: Int64 = 0
        /// What stood there before.
        var before = ""
    }

    /// Seconds.
    static let historyLength = 60
    /// A setting is written again after so long, for what the link carries.
    static let longestSilence: Int64 = 60_000_000_000
    /// Nanoseconds after a write that failed.
    private static let pause: Int64 = 5_000_000_000

    private var entries: [LinkKey: Entry] = [:]
    private var nextSecond: Int64 = 0
    private var nextWrite: Int64 = 0
    private var nextWatched: Int64 = 0
    /// Since when, by the wall clock, links are offline; survives restarts.
    var offlineSince: [LinkKey: Timestamp] = [:]

    /// Goodput in bytes per second of each of the last seconds, the oldest first.
    func history(of key: LinkKey) -> [Double] { entries[key]?.history ?? [] }

    /// Whether a second has passed since it was true last.
    mutating func isSecondOver(now: Int64) -> Bool {
        guard now >= nextSecond else { return false }
        nextSecond = now + 990_000_000
        return true
    }

    mutating func add(_ goodput: Double, to key: LinkKey) {
        var entry = entries[key] ?? Entry()
        entry.history.append(goodput)
        if entry.history.count > Self.historyLength { entry.history.removeFirst() }
        entries[key] = entry
    }

    /// Whether a link's setting has to be written.
    /// - Parameter isActive: what it carries is news after a while, also where its level is the same.
    mutating func isNews(_ signature: String, of key: LinkKey, isActive: Bool, now: Int64) -> Bool {
        guard now >= nextWrite else { return false }
        var entry = entries[key] ?? Entry()
        guard entry.signature != signature || isActive && now - entry.writtenAt >= Self.longestSilence else {
            return false
        }
        entry.before = entry.signature
        entry.signature = signature
        entry.writtenAt = now
        entries[key] = entry
        return true
    }

    /// Whether it has to be written that a coordinator watches the links.
    mutating func isWatchedDue(now: Int64) -> Bool {
        guard now >= max(nextWatched, nextWrite) else { return false }
        nextWatched = now + Self.longestSilence
        return true
    }

    /// It could not be written: it is news again, a little later.
    mutating func failed(_ signature: String, of key: LinkKey, now: Int64) {
        nextWrite = now + Self.pause
        guard var entry = entries[key], entry.signature == signature else { return }
        entry.signature = entry.before
        entry.writtenAt = now - Self.longestSilence
        entries[key] = entry
    }

    /// A setting stands that says something else.
    func differs(_ signature: String, of key: LinkKey) -> Bool {
        entries[key].map { !$0.signature.isEmpty && $0.signature != signature } ?? false
    }

    /// Another coordinator has left a setting.
    mutating func known(_ key: LinkKey) { entries[key] = Entry(signature: "as it was left") }

    /// Nobody was offline for longer because the wall clock jumped.
    mutating func wallClockJumped(by jump: Duration, to now: Timestamp) {
        offlineSince = offlineSince.mapValues { min($0 + jump, now) }
    }

    /// The link is known no more.
    mutating func forget(_ key: LinkKey) {
        entries[key] = nil
        offlineSince[key] = nil
    }
}
