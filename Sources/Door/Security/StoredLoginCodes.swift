package import Commands
package import Queue
package import Store

/// Single-use login codes in the store: `sluice login` makes one without a request to the door, because another program
/// may listen at its address. All calls block.
package struct StoredLoginCodes: Sendable {
    package static let lifetime: Duration = .seconds(600)

    private let settings: any SettingStore

    package init(_ settings: any SettingStore) { self.settings = settings }

    package init(_ queue: QueueAccess) { self.init(queue.store) }

    /// Makes a code, which is valid for 10 minutes, and removes those that are not valid any more, unless the wall clock is
    /// not trusted (``ClockHold``).
    /// - Parameter token: the id of the token whose rights it gives.
    package func make(for token: String, now: Timestamp) throws(StoreError) -> String {
        let code = Base62.random(bytes: 16)
        let isHeld = settings.isClockHeld
        let expired = try settings.settings(prefix: SettingKey.loginPrefix).filter { _, value in
            Self.read(value).map { !isHeld && !Self.isValid(until: $0.expires, now: now) } ?? true
        }
        let value = JSONValue.object([
            .init("token", .string(token)), .init("expires", .string((now + Self.lifetime).description)),
        ])
        try settings.set(
            [(Self.key(code), value.text)] + expired.map { ($0.key, nil) }, timeout: WriteTimeout.foreground)
        return code
    }

    /// Uses a code up.
    /// - Returns: the id of its token; nil for a code that is not known, was used, or has expired. While the wall clock is
    ///   not trusted, a code that seems to have expired is refused, and kept: the clock may jump back.
    package func redeem(_ code: String, now: Timestamp) throws(StoreError) -> String? {
        // A client with wrong codes causes no write.
        guard let known = try settings.setting(Self.key(code)) else { return nil }
        if let known = Self.read(known), !Self.isValid(until: known.expires, now: now), settings.isClockHeld {
            return nil
        }
        var found: (token: String, expires: Timestamp)?
        try settings.update(Self.key(code), timeout: WriteTimeout.foreground) { value in
            found = value.flatMap { Self.read($0) }
            return nil
        }
        return found.flatMap { Self.isValid(until: $0.expires, now: now) ? $0.token : nil }
    }

    /// A code of a clock that was ahead has expired: it would be valid for longer than any other.
    private static func isValid(until end: Timestamp, now: Timestamp) -> Bool {
        end > now && end <= now + lifetime + ClockHold.maxStep
    }

    private static func read(_ value: String) -> (token: String, expires: Timestamp)? {
        guard let json = try? JSONValue(parsing: Array(value.utf8)), let token = json["token"]?.string,
            let expires = json["expires"]?.string.flatMap({ Timestamp(rfc3339: $0) })
        else { return nil }
        return (token, expires)
    }

    private static func key(_ code: String) -> String { SettingKey.loginPrefix + SecretDigest.text(of: code) }
}

/// Links that open a session in a browser once, so that no token is in a URL or is typed in.
package enum LoginLink {
    /// - Parameter base: the URL of the door, without a slash at its end.
    package static func url(_ base: String, code: String) -> String { "\(base)/login?code=\(code)" }
}
