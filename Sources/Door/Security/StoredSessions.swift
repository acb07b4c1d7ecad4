internal import Commands
internal import Host
package import Logging
package import Store
internal import Synchronization

/// The sessions of browsers in the store, so that they outlive the door.
///
/// Changes are written in their order by one thread. Those that cannot be written are tried again with the next ones.
package final class StoredSessions: Sendable {
    package typealias Changes = [String: SessionTable.Session?]

    private let settings: any SettingStore
    private let logger: Logger
    private let thread = SerialThread(named: "door-sessions")
    private let pending = Mutex<Changes>([:])

    package init(_ settings: any SettingStore, logger: Logger) {
        self.settings = settings
        self.logger = logger
    }

    /// The sessions of earlier doors, by digest. Blocks.
    package static func read(_ settings: any SettingStore) throws(StoreError) -> [String: SessionTable.Session] {
        var sessions: [String: SessionTable.Session] = [:]
        for (key, value) in try settings.settings(prefix: SettingKey.sessionPrefix) {
            // A record of another form is a session that was never idle long enough: it counts as idle too long.
            sessions[String(key.dropFirst(SettingKey.sessionPrefix.count))] =
                session(value) ?? SessionTable.Session(token: "", lastSeen: .zero)
        }
        return sessions
    }

    /// The end of the cookie's name, which the store keeps: browsers send the cookies of a host to all its ports, so two
    /// doors of one host must not have the same name. Blocks.
    package static func cookieSuffix(_ settings: any SettingStore) throws(StoreError) -> String {
        func isUsable(_ suffix: String) -> Bool {
            (1...16).contains(suffix.utf8.count) && suffix.utf8.allSatisfy(Base62.isDigit)
        }
        if let suffix = try settings.setting(SettingKey.doorCookie), isUsable(suffix) { return suffix }
        let suffix = Base62.random(bytes: 5)
        try settings.set(SettingKey.doorCookie, to: suffix)
        return suffix
    }

    /// Writes changes behind those that came before.
    /// - Parameter body: called on a thread when they are written, or when that has failed.
    func write(_ changes: Changes, then body: @escaping @Sendable () -> Void = {}) {
        pending.withLock { $0.merge(changes) { _, new in new } }
        thread.perform { [self] in
            writePending()
            body()
        }
    }

    /// Ends the thread after the writes that are due.
    package func close() { thread.close() }

    private func writePending() {
        let changes = pending.withLock { pending in
            defer { pending = [:] }
            return pending
        }
        guard !changes.isEmpty else { return }
        do throws(StoreError) {
            try settings.set(
                changes.map { (SettingKey.session($0.key), $0.value.map(Self.text)) }, timeout: WriteTimeout.foreground)
        } catch {
            pending.withLock { $0.merge(changes) { newer, _ in newer } }
            logger.warning(
                "Sessions of browsers are not stored: until they are, a restart of the door forgets logins and log-outs.",
                metadata: ["count": "\(changes.count)", "error": "\(error.message)"])
        }
    }

    private static func text(_ session: SessionTable.Session) -> String {
        JSONValue.object([
            .init("token", .string(session.token)), .init("seen", .string(session.lastSeen.description)),
        ]).text
    }

    private static func session(_ text: String) -> SessionTable.Session? {
        guard let json = try? JSONValue(parsing: Array(text.utf8)), let token = json["token"]?.string,
            let seen = json["seen"]?.string.flatMap({ Timestamp(rfc3339: $0) })
        else { return nil }
        return SessionTable.Session(token: token, lastSeen: seen)
    }
}
