package import Commands
package import Store

/// Single-use login codes in the store: `sluice login` makes one without a request to the door, because another program
/// may listen at its address. All calls block.
package struct StoredLoginCodes: Sendable {
    package static let lifetime: Duration = .seconds(600)

    private let settings: any SettingStore

    package init(_ settings: any SettingStore) { self.settings = settings }

    /// Makes a code, which is valid for 10 minutes, and removes those that are not valid any more.
    /// - Parameter token: the id of the token whose rights it gives.
    package func make(for token: String, now: Timestamp) throws(StoreError) -> String {
        let code = Base62.random(bytes: 16)
        let expired = try settings.settings(prefix: SettingKey.loginPrefix).filter { _, value in
            Self.read(value).map { $0.expires <= now } ?? true
        }
        let value = JSONValue.object([
            .init("token", .string(token)), .init("expires", .string((now + Self.lifetime).description)),
        ])
        try settings.set(
            [(Self.key(code), value.text)] + expired.map { ($0.key, nil) }, timeout: WriteTimeout.foreground)
        return code
    }

    /// Uses a code up.
    /// - Returns: the id of its token; nil for a code that is not known, was used, or has expired.
    package func redeem(_ code: String, now: Timestamp) throws(StoreError) -> String? {
        // A client with wrong codes causes no write.
        guard try settings.setting(Self.key(code)) != nil else { return nil }
        var found: (token: String, expires: Timestamp)?
        try settings.update(Self.key(code), timeout: WriteTimeout.foreground) { value in
            found = value.flatMap { Self.read($0) }
            return nil
        }
        return found.flatMap { $0.expires > now ? $0.token : nil }
    }

    private static func read(_ value: String) -> (token: String, expires: Timestamp)? {
        guard let json = try? JSONValue(parsing: Array(value.utf8)), let token = json["token"]?.string,
            let expires = json["expires"]?.string.flatMap({ Timestamp(rfc3339: $0) })
        else { return nil }
        return (token, expires)
    }

    private static func key(_ code: String) -> String { SettingKey.loginPrefix + SecretDigest.text(of: code) }
}
