package import Commands
internal import Store

/// The sessions of browsers, by the digests of their ids. Pure but for the random ids.
package struct SessionTable: Sendable {
    package struct Session: Sendable, Equatable {
        /// The id of the token whose rights it has.
        var token: String
        var lastSeen: Timestamp
    }

    private struct Entry {
        var session: Session
        /// ``Session/lastSeen`` in the store; nil where the store does not have the session yet.
        var stored: Timestamp?
    }

    /// A session ends when no request uses it for this time.
    package static let maxIdle: Duration = .seconds(12 * 3600)
    /// The maximum number of sessions; the one that was idle longest goes first.
    package static let maxCount = 4096
    /// The store learns of the use of a session at most this often, so that reading a page is not a write.
    static let storeInterval: Duration = .seconds(600)

    private var entries: [String: Entry] = [:]
    private var changes: [String: Session?] = [:]

    /// - Parameters:
    ///   - stored: the sessions that the store has. Those that were idle too long count as ended.
    ///   - isClockHeld: the wall clock is not trusted (``ClockHold``): a session that seems to be idle too long may not be, and
    ///     counts as in use now.
    package init(_ stored: [String: Session] = [:], now: Timestamp = .now, isClockHeld: Bool = false) {
        for (digest, session) in stored {
            if !Self.isIdle(session, now: now) {
                entries[digest] = Entry(session: session, stored: session.lastSeen)
            } else if isClockHeld, !session.token.isEmpty {
                entries[digest] = Entry(session: Session(token: session.token, lastSeen: now), stored: session.lastSeen)
            } else {
                changes[digest] = .some(nil)
            }
        }
    }

    package var count: Int { entries.count }

    /// Begins a session.
    /// - Parameter token: the id of the token whose rights it has.
    /// - Returns: its id, a secret of 256 bits.
    package mutating func begin(token: String, now: Timestamp) -> String {
        if entries.count >= Self.maxCount,
            let idle = entries.min(by: { $0.value.session.lastSeen < $1.value.session.lastSeen })
        {
            remove(idle.key)
        }
        let id = Base62.random(bytes: 32)
        let digest = SecretDigest.text(of: id)
        entries[digest] = Entry(session: Session(token: token, lastSeen: now))
        note(digest)
        return id
    }

    /// The id of the token of a session, which is in use now; nil where there is none with that id, or it was idle too
    /// long.
    /// - Parameter isClockHeld: as in ``init(_:now:isClockHeld:)``. It is asked only where it matters.
    package mutating func use(_ id: String, now: Timestamp, isClockHeld: () -> Bool = { false }) -> String? {
        let digest = SecretDigest.text(of: id)
        guard var entry = entries[digest] else { return nil }
        let isBack = entry.session.lastSeen > now + ClockHold.maxStep
        guard isBack || !Self.isIdle(entry.session, now: now) || isClockHeld() else {
            remove(digest)
            return nil
        }
        // A clock that was ahead makes no session last longer.
        entry.session.lastSeen = isBack ? now : max(now, entry.session.lastSeen)
        entries[digest] = entry
        if entry.stored.map({ now - $0 >= Self.storeInterval || $0 > now + ClockHold.maxStep }) ?? true { note(digest) }
        return entry.session.token
    }

    /// As ``use(_:now:isClockHeld:)``, without counting as a use.
    package func token(_ id: String, now: Timestamp, isClockHeld: () -> Bool = { false }) -> String? {
        entries[SecretDigest.text(of: id)].flatMap { entry in
            !Self.isIdle(entry.session, now: now) || isClockHeld() ? entry.session.token : nil
        }
    }

    private static func isIdle(_ session: Session, now: Timestamp) -> Bool { now - session.lastSeen >= maxIdle }

    package mutating func end(_ id: String) { remove(SecretDigest.text(of: id)) }

    /// Ends the sessions of a token.
    package mutating func end(token: String) {
        for (digest, entry) in entries where entry.session.token == token { remove(digest) }
    }

    /// The changes since the last call that the store must have, by digest; nil: the session has ended.
    package mutating func takeChanges() -> [String: Session?] {
        defer { changes = [:] }
        return changes
    }

    private mutating func remove(_ digest: String) {
        guard entries.removeValue(forKey: digest) != nil else { return }
        changes[digest] = .some(nil)
    }

    private mutating func note(_ digest: String) {
        guard let session = entries[digest]?.session else { return }
        entries[digest]?.stored = session.lastSeen
        changes[digest] = .some(session)
    }
}
