internal import ArgumentParser
internal import Commands
internal import Console
internal import Door
internal import Queue

struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Make, list, rotate and revoke the access tokens of the door.",
        discussion: """
            A client of the door sends a token: “Authorization: Bearer slu_…”. A token has scopes: “upload” (send uploads to \
            its routes), “submit” (commands, flows and batches), “read” (commands, links, workers, uploads, events), “control” \
            (cancel, retry, pause and the like), “metrics” and “grant” (make upload tokens over HTTP, each for a day at most). The \
            store keeps only a digest of it.

            The door makes the token “local” for this machine, with all scopes but “grant”, in keys/door.token of the data \
            directory.

            EXAMPLES
              sluice token create studio --scope upload --route archive
              sluice token create grafana --scope metrics --expires 365d
              sluice token create site --scope upload,grant --route archive    (POST /api/v1/tokens makes upload tokens)
              sluice token list
              sluice token rotate studio --overlap 1h
              sluice token revoke studio
            """,
        subcommands: [
            TokenCreateCommand.self, TokenListCommand.self, TokenRotateCommand.self, TokenRevokeCommand.self,
        ])
}

struct TokenListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the access tokens, without their secrets.",
        discussion: """
            A token that another one has made over HTTP (scope “grant”) has that one as its maker, and ends with it. A token that \
            can be used no more is listed for a month, one with a maker for an hour. “lastUsed” is recorded at most once a minute.

            EXAMPLES
              sluice token list
              sluice token list --json | jq -r 'select(.state == "usable" and .lastUsed == null) | .name'
              sluice token list --json | jq -r 'select(.maker == "site") | .id' | xargs -r sluice token revoke
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    func run() throws {
        let queue = try data.queue()
        let now = queue.now
        let (records, unreadable) = try TokenStore(queue).tokens()
        if print.json {
            for record in records { Output.line(JSONValue.object(record.members(now: now)).bytes) }
        } else if records.isEmpty {
            Diagnostics.say("no access tokens; “sluice token create --help” says how to make one")
        } else {
            var table = Table([
                ("ID", .left), ("NAME", .left), ("MAKER", .left), ("MAY", .left), ("USED", .right), ("EXPIRES", .right),
                ("STATE", .left),
            ])
            for record in records {
                let used = record.lastUsed.map { "\(max(now - $0, .zero).roundText) ago" } ?? "never"
                let expires =
                    record.expires.map { $0 > now ? "in \(($0 - now).roundText)" : "\((now - $0).roundText) ago" }
                    ?? "never"
                table.add([
                    record.id, record.name, record.maker?.name ?? "-", TokenText.rights(record), used, expires,
                    record.state(at: now).rawValue,
                ])
            }
            for line in table.lines { Output.line(line) }
        }
        if !unreadable.isEmpty {
            Diagnostics.say(
                "another release has written the tokens \(unreadable.joined(separator: ", ")); this one does not accept them"
            )
        }
        try data.warn(of: queue)
    }
}

struct TokenRevokeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke access tokens. Takes effect within a second.",
        discussion: """
            A name means all of its usable tokens. Requests with the token are refused from then on, and the sessions that were \
            begun with it end. Uploads and commands that it has made go on; a token that gets its name later owns them. Tokens \
            that it has made over HTTP end with it. The door replaces a revoked token “local” at its next start.

            EXAMPLES
              sluice token revoke studio
              sluice token revoke 4f0c9a7x2b --json
              sluice token revoke site/camera-7    (one that “site” has made)
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The ids or names of the tokens.", valueName: "id|name"))
    var tokens: [String]

    func run() throws {
        let queue = try data.queue()
        let tokenStore = TokenStore(queue)
        let now = queue.now
        let known = try tokenStore.tokens().records
        for record in try tokens.flatMap({ try TokenText.records($0, in: known, data, now: now) }) {
            guard let revoked = try tokenStore.revoke(record.id, now: now) else { continue }
            if print.json {
                Output.line(JSONValue.object(revoked.members(now: now)).bytes)
            } else {
                let time = record.revoked.map { " already, at \($0)" } ?? ""
                Output.line("\(record.fullName) (\(record.id)): revoked\(time)")
            }
        }
        try data.warn(of: queue)
    }
}

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
