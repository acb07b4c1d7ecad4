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

extension TokenRecord {
    private static let keys: Set<String> = [
        "name", "digest", "scopes", "routes", "types", "destinations", "created", "expires", "lastUsed", "revoked",
        "owner", "maker", "makerName", "maxBytes",
    ]

    /// The value of its setting.
    package var setting: String {
        JSONValue.object(
            [.init("name", .string(name)), .init("digest", .string(Hexadecimal.text(digest)))] + rights + times
                + (owner == id ? [] : [.init("owner", .string(owner))])
                + (maker.map { [.init("maker", .string($0.owner)), .init("makerName", .string($0.name))] } ?? [])
                + (maxBytes.map { [.init("maxBytes", .integer($0))] } ?? [])
        ).text
    }

    /// All but the digest, for output.
    package func members(now: Timestamp) -> [JSONValue.Member] {
        [.init("id", .string(id)), .init("name", .string(name))] + rights
            + [
                .init("maxBytes", maxBytes.map { .integer($0) } ?? .null),
                .init("maker", maker.map { .string($0.name) } ?? .null),
            ] + times + [.init("state", .string(state(at: now).rawValue))]
    }

    /// Scopes, routes, types and destinations, for output.
    private var rights: [JSONValue.Member] {
        func list(_ values: Set<String>?) -> JSONValue {
            values.map { .array($0.sorted().map { .string($0) }) } ?? .null
        }
        return [
            .init("scopes", .array(Scope.allCases.filter(scopes.contains).map { .string($0.rawValue) })),
            .init("routes", list(routes)), .init("types", list(types)),
            .init("destinations", list(destinations.map { Set($0.map(\.text)) })),
        ]
    }

    /// When it was made, expires, was used last, and was revoked.
    private var times: [JSONValue.Member] {
        func time(_ time: Timestamp?) -> JSONValue { time.map { .string($0.description) } ?? .null }
        return [
            .init("created", time(created)), .init("expires", time(expires)), .init("lastUsed", time(lastUsed)),
            .init("revoked", time(revoked)),
        ]
    }

    /// Reads ``setting`` back; nil for a value of another form.
    ///
    /// A key or a scope that this release does not know may be a limit of the rights, so such a token is not usable.
    package init?(id: String, setting: String) {
        guard let value = try? JSONValue(parsing: setting.utf8), let members = value.members,
            members.allSatisfy({ Self.keys.contains($0.name) }), let name = value["name"]?.string,
            let digest = value["digest"]?.string.flatMap({ Hexadecimal.bytes($0) }), digest.count == 32,
            let scopes = Self.strings(value["scopes"]), let created = value["created"]?.timestamp
        else { return nil }
        self.init(id: id, name: name, digest: digest, scopes: [], created: created)
        if !Self.isAbsent(value["owner"]) {
            guard let owner = value["owner"]?.string else { return nil }
            self.owner = owner
        }
        if !Self.isAbsent(value["maker"]) {
            guard let owner = value["maker"]?.string, let name = value["makerName"]?.string else { return nil }
            maker = Maker(owner: owner, name: name)
        }
        if !Self.isAbsent(value["maxBytes"]) {
            guard let bytes = value["maxBytes"]?.integer else { return nil }
            maxBytes = bytes
        }
        for text in scopes {
            guard let scope = Scope(rawValue: text) else { return nil }
            self.scopes.insert(scope)
        }
        for key in ["routes", "types", "destinations"] where !Self.isAbsent(value[key]) {
            guard let list = Self.strings(value[key]) else { return nil }
            switch key {
            case "routes": routes = Set(list)
            case "types": types = Set(list)
            default: destinations = Set(list.map { Destination(unchecked: $0) })
            }
        }
        for key in ["expires", "lastUsed", "revoked"] where !Self.isAbsent(value[key]) {
            guard let time = value[key]?.timestamp else { return nil }
            switch key {
            case "expires": expires = time
            case "lastUsed": lastUsed = time
            default: revoked = time
            }
        }
    }

    private static func isAbsent(_ value: JSONValue?) -> Bool { value == nil || value == .null }

    /// Nil for anything but a list of strings.
    private static func strings(_ value: JSONValue?) -> [String]? {
        guard let elements = value?.elements else { return nil }
        let strings = elements.compactMap(\.string)
        return strings.count == elements.count ? strings : nil
    }
}
