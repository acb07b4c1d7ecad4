package import Commands
internal import Crypto

/// The sessions of browsers. They end with the door. Pure but for the random ids.
package struct SessionTable: Sendable {
    private struct Session {
        var token: String
        var lastSeen: Timestamp
    }

    /// A session ends when no request uses it for this time.
    package static let maxIdle: Duration = .seconds(12 * 3600)
    /// The maximum number of sessions; the one that was idle longest goes first.
    static let maxCount = 4096

    /// By the SHA-256 of the id.
    private var sessions: [[UInt8]: Session] = [:]

    package init() {}

    package var count: Int { sessions.count }

    /// Begins a session.
    /// - Parameter token: the id of the token whose rights it has.
    /// - Returns: its id, a secret of 256 bits.
    package mutating func begin(token: String, now: Timestamp) -> String {
        if sessions.count >= Self.maxCount, let idle = sessions.min(by: { $0.value.lastSeen < $1.value.lastSeen }) {
            sessions[idle.key] = nil
        }
        let id = Base62.random(bytes: 32)
        sessions[Self.digest(id)] = Session(token: token, lastSeen: now)
        return id
    }

    /// The id of the token of a session, which is in use now; nil where there is none with that id, or it was idle too
    /// long.
    package mutating func use(_ id: String, now: Timestamp) -> String? {
        let digest = Self.digest(id)
        guard let session = sessions[digest] else { return nil }
        guard now - session.lastSeen < Self.maxIdle else {
            sessions[digest] = nil
            return nil
        }
        sessions[digest]?.lastSeen = max(now, session.lastSeen)
        return session.token
    }

    /// As ``use(_:now:)``, without counting as a use.
    package func token(_ id: String, now: Timestamp) -> String? {
        sessions[Self.digest(id)].flatMap { now - $0.lastSeen < Self.maxIdle ? $0.token : nil }
    }

    package mutating func end(_ id: String) { sessions[Self.digest(id)] = nil }

    /// Ends the sessions of a token.
    package mutating func end(token: String) { sessions = sessions.filter { $0.value.token != token } }

    private static func digest(_ id: String) -> [UInt8] { Array(SHA256.hash(data: Array(id.utf8))) }
}
