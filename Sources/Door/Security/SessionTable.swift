package import Commands
internal import Crypto
package import HTTPTypes
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
    /// The maximum number of sessions. A login beyond it ends a session of the token that has most, so that the logins of one
    /// token end no session of another.
    package static let maxCount = 4096
    /// The maximum number of sessions of a token: a login beyond it ends the token's session that was idle longest.
    package static let maxCountOfToken = 64
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

    /// Begins a session, and ends those beyond the maximum: the token's own oldest, or the oldest of the token that has most.
    /// - Parameter token: the id of the token whose rights it has.
    /// - Returns: its id, a secret of 256 bits.
    package mutating func begin(token: String, now: Timestamp) -> String {
        makeRoom(for: token)
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

    private mutating func makeRoom(for token: String) {
        let own = entries.values.count { $0.session.token == token }
        // The store of an earlier release may have more of them.
        for _ in 0..<max(0, own - Self.maxCountOfToken + 1) { removeOldest(of: token) }
        guard entries.count >= Self.maxCount else { return }
        let counts = entries.values.reduce(into: [token: 1]) { $0[$1.session.token, default: 0] += 1 }
        // Among equals the session of the token that logs in goes; it has none where each of 4,096 tokens has one.
        let (largest, count) =
            counts.max { ($0.value, $0.key == token ? 1 : 0) < ($1.value, $1.key == token ? 1 : 0) } ?? (token, 1)
        removeOldest(of: count > 1 ? largest : nil)
    }

    /// - Parameter token: nil: of all tokens.
    private mutating func removeOldest(of token: String?) {
        let own = entries.lazy.filter { token == nil || $0.value.session.token == token }
        guard let oldest = own.min(by: { $0.value.session.lastSeen < $1.value.session.lastSeen }) else { return }
        remove(oldest.key)
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

/// The cookie of a session.
package struct SessionCookie: Sendable, Equatable {
    package let name: String
    private let path: String
    private let isSecure: Bool

    /// - Parameters:
    ///   - basePath: of the page, without a slash at the end; empty for the root.
    ///   - isSecure: browsers reach the door by https, perhaps through a proxy.
    ///   - suffix: letters, digits and “-” that tell the doors of one host apart: browsers send the cookies of a host
    ///     to all its ports.
    package init(basePath: String, isSecure: Bool, suffix: String = "") {
        path = basePath.isEmpty ? "/" : basePath
        self.isSecure = isSecure
        // Browsers refuse a cookie with __Host- below a path (RFC 6265bis, section 4.1.3).
        let prefix = !isSecure ? "" : basePath.isEmpty || basePath == "/" ? "__Host-" : "__Secure-"
        name = "\(prefix)sluice\(suffix.isEmpty ? "" : "-\(suffix)")"
    }

    /// The value of `Set-Cookie` that begins a session.
    package func setting(_ id: String) -> String { "\(name)=\(id)\(attributes)" }

    /// The value of `Set-Cookie` that removes the cookie.
    package var removal: String { "\(name)=\(attributes); Max-Age=0" }

    private var attributes: String { "; Path=\(path); HttpOnly; SameSite=Strict\(isSecure ? "; Secure" : "")" }

    /// The ids of sessions that a request carries. A browser sends several where it has cookies of several paths.
    package func ids(in fields: HTTPFields) -> [String] {
        fields[values: .cookie].flatMap { $0.split(separator: ";") }.compactMap { pair in
            let trimmed = pair.drop { $0 == " " || $0 == "\t" }
            guard let equals = trimmed.utf8.firstIndex(of: UInt8(ascii: "=")),
                trimmed[..<equals].utf8.elementsEqual(name.utf8)
            else { return nil }
            let id = trimmed[equals...].dropFirst()
            return id.isEmpty || !id.utf8.allSatisfy(Base62.isDigit) ? nil : String(id)
        }
    }
}

/// The digests of secrets, which memory and the store keep instead of the secrets: the time of a search by a digest does
/// not depend on the secret, and a reader of a backup cannot log in.
enum SecretDigest {
    /// The SHA-256 of a secret in hexadecimal digits.
    static func text(of secret: String) -> String {
        Hexadecimal.text(SHA256.hash(data: Array(secret.utf8)))
    }
}
