package import Commands

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
