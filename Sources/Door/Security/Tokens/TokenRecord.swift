package import Commands
internal import Store

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
    /// The token that has made it over HTTP; nil: a person has made it. It ends with its maker (``TokenStore/tokens()``).
    package var maker: Maker?
    /// Bytes that its uploads may have in the spool; nil: as many as those of its maker. Of a grant only.
    package var maxBytes: Int64?

    package struct Maker: Sendable, Equatable {
        /// ``TokenRecord/owner`` of the maker: it may be rotated meanwhile.
        package var owner: String
        package var name: String

        package init(owner: String, name: String) {
            self.owner = owner
            self.name = name
        }
    }

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

    /// The name for people: `studio/camera-7` of a grant, because grants of two makers may have one name.
    package var fullName: String { maker.map { "\($0.name)/\(name)" } ?? name }

    package static func isName(_ text: String) -> Bool { RateLimit.isName(text) }

    /// For messages.
    package static let nameForm = RateLimit.nameForm

    /// The principal of its requests.
    package func principal(isSession: Bool) -> Principal {
        var principal = Principal(token: id, name: fullName, scopes: scopes, routes: routes)
        principal.owner = owner
        principal.grant = maker.map { UploadFacts.Grant(maker: $0.owner, maxBytes: maxBytes) }
        principal.types = types
        principal.destinations = destinations
        principal.isSession = isSession
        return principal
    }
}
