/// The `Idempotency-Key` of a request that creates an upload: the same request again returns the same upload.
/// Source: draft-ietf-httpapi-idempotency-key-header-07 (expired 2026-04-18).
package struct IdempotencyKey: Sendable, Hashable {
    /// 1 to 255 bytes, unique for the token.
    package var value: String
    /// Names the token, so that clients do not share keys.
    package var token: String

    package init(value: String, token: String) {
        self.value = value
        self.token = token
    }
}
