internal import Commands
internal import Door

/// Access tokens, for people and for programs.
enum TokenText {
    /// All but the digest.
    static func members(_ record: TokenRecord, now: Timestamp) -> [JSONValue.Member] {
        [.init("id", .string(record.id)), .init("name", .string(record.name))] + record.rights + record.times
            + [.init("state", .string(record.state(at: now).rawValue))]
    }

    /// The rights of a token in a list: `upload (archive, publish), read`.
    static func rights(_ record: TokenRecord) -> String {
        Scope.allCases.filter(record.scopes.contains).map { scope in
            let limits: [String] =
                switch scope {
                case .upload: record.routes?.sorted() ?? []
                case .submit:
                    (record.types?.sorted() ?? []) + (record.destinations?.map { "to \($0)" }.sorted() ?? [])
                case .read, .control, .metrics: []
                }
            return scope.rawValue + (limits.isEmpty ? "" : " (\(limits.joined(separator: ", ")))")
        }.joined(separator: ", ")
    }

    /// The rights of a token in a sentence: `upload to the route archive, and read`.
    static func sentence(_ record: TokenRecord) -> String {
        func quoted(_ names: some Sequence<String>) -> String {
            names.sorted().map { "“\($0)”" }.joined(separator: ", ")
        }
        let parts = Scope.allCases.filter(record.scopes.contains).map { scope in
            switch scope {
            case .upload: "upload to " + (record.routes.map { "the routes \(quoted($0))" } ?? "all routes")
            case .submit:
                "submit " + (record.types.map { "commands of the types \(quoted($0))" } ?? "commands")
                    + (record.destinations.map { " to \($0.map(\.text).sorted().joined(separator: ", "))" } ?? "")
            case .read: "read"
            case .control: "control commands and links"
            case .metrics: "read the metrics"
            }
        }
        guard let last = parts.last, parts.count > 1 else { return parts.first ?? "do nothing" }
        return parts.dropLast().joined(separator: "; ") + "; and \(last)"
    }
}
