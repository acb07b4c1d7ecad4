package import Commands

/// An access token as the store keeps it: its rights, and the digest of its secret.
package struct TokenRecord: Sendable, Equatable {
    package let id: String
    /// Given by a person: 1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-”. Two usable tokens have the same name only while
    /// ``TokenStore/rotate(_:to:expires:overlap:now:)`` lets them overlap.
    package var name: String
    /// The id of the first token of the name: uploads, keys of requests and shares belong to the name, so that they outlive
    /// a token that expires or is replaced. The default is ``id``.
    package var owner: String
    /// ``AccessToken/digest``
    package let digest: [UInt8]
    package var scopes: Set<Scope>
    /// The routes that its uploads may take; nil: all.
    package var routes: Set<String>?
    /// The types of commands that it may submit; nil: all that the API takes.
    package var types: Set<String>?
    /// The destinations of commands that it may submit; nil: all.
    package var destinations: Set<Destination>?
    package var created: Timestamp
    /// Nil: never.
    package var expires: Timestamp?
    /// Written at most once a minute; nil: never used.
    package var lastUsed: Timestamp?
    package var revoked: Timestamp?

    package init(_ token: AccessToken, name: String, scopes: Set<Scope>, created: Timestamp) {
        self.init(id: token.id, name: name, digest: token.digest, scopes: scopes, created: created)
    }

    init(id: String, name: String, digest: [UInt8], scopes: Set<Scope>, created: Timestamp) {
        self.id = id
        self.name = name
        owner = id
        self.digest = digest
        self.scopes = scopes
        self.created = created
    }

    package enum State: String, Sendable {
        case usable, expired, revoked
    }

    package func state(at now: Timestamp) -> State {
        if revoked != nil { return .revoked }
        if let expires, now >= expires { return .expired }
        return .usable
    }

    /// Whether the token is this one. The time that it takes does not depend on the secret.
    package func matches(_ token: AccessToken) -> Bool {
        let other = token.digest
        guard other.count == digest.count, !other.isEmpty else { return false }
        return zip(digest, other).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }

    package static func isName(_ text: String) -> Bool { RateLimit.isName(text) }

    /// For messages.
    package static let nameForm = RateLimit.nameForm

    /// The principal of its requests.
    package func principal(isSession: Bool) -> Principal {
        var principal = Principal(token: id, name: name, scopes: scopes, routes: routes)
        principal.owner = owner
        principal.types = types
        principal.destinations = destinations
        principal.isSession = isSession
        return principal
    }
}
