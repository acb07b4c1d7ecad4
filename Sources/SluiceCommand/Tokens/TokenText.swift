internal import Commands
internal import Console
internal import Door

/// Access tokens, for people and for programs.
enum TokenText {
    /// The rights of a token in a list: `upload (archive, publish), read`.
    static func rights(_ record: TokenRecord) -> String {
        Scope.allCases.filter(record.scopes.contains).map { scope in
            let limits: [String] =
                switch scope {
                case .upload:
                    (record.routes?.sorted() ?? [])
                        + (record.maxBytes.map { ["at most \(Figures.bytes($0))"] } ?? [])
                case .submit:
                    (record.types?.sorted() ?? []) + (record.destinations?.map { "to \($0)" }.sorted() ?? [])
                case .read, .control, .metrics, .grant: []
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
            case .grant: "make upload tokens"
            }
        }
        guard let last = parts.last, parts.count > 1 else { return parts.first ?? "do nothing" }
        let separator = parts.count > 2 || parts.contains { $0.contains(",") } ? ";" : ","
        return parts.dropLast().joined(separator: "\(separator) ") + "\(separator) and \(last)"
    }

    /// The tokens that a person names. A name means its usable tokens, of which there are two while one replaces the other;
    /// else the newest token of the name.
    static func records(
        _ text: String, in known: [TokenRecord], _ data: DataOptions, now: Timestamp
    ) throws -> [TokenRecord] {
        if let record = known.first(where: { $0.id == text }) { return [record] }
        let named = known.filter { $0.fullName == text }
        let usable = named.filter { $0.state(at: now) == .usable }
        if !usable.isEmpty { return usable }
        if let newest = named.last { return [newest] }
        let near = NearestName.suggestion(for: text, among: known.map(\.fullName))
        throw ExitError(.input, "there is no access token “\(text)” in \(data.place)\(near)")
    }

    /// The one token that a person names.
    static func record(
        _ text: String, in known: [TokenRecord], _ data: DataOptions, now: Timestamp
    ) throws -> TokenRecord {
        let records = try records(text, in: known, data, now: now)
        guard records.count == 1 else {
            throw ExitError(
                .usage,
                "“\(text)” is the name of the tokens \(records.map(\.id).joined(separator: " and ")); give an id")
        }
        return records[0]
    }
}
