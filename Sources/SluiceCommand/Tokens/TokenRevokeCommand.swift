internal import ArgumentParser
internal import Commands
internal import Door
internal import Store

struct TokenRevokeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke access tokens. Takes effect within a second.",
        discussion: """
            Requests with the token are refused from then on, and the sessions that were begun with it end. Uploads and \
            commands that it has made go on. The door replaces a revoked token “local” at its next start.

            EXAMPLES
              sluice token revoke studio
              sluice token revoke 4f0c9a7x2b --json
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The ids or names of the tokens.", valueName: "id|name"))
    var tokens: [String]

    func run() throws {
        let (_, store) = try data.store()
        let tokenStore = TokenStore(store)
        let now = Timestamp.now
        let known = try tokenStore.tokens().records
        for record in try tokens.map({ try find($0, known, now) }) {
            guard let revoked = try tokenStore.revoke(record.id, now: now) else { continue }
            if print.json {
                Output.line(JSONValue.object(TokenText.members(revoked, now: now)).bytes)
            } else {
                let time = record.revoked.map { " already, at \($0)" } ?? ""
                Output.line("\(record.name) (\(record.id)): revoked\(time)")
            }
        }
        try data.warn(of: store)
    }

    /// The token that a person names. A name means the usable token of that name, else the newest one.
    private func find(_ text: String, _ known: [TokenRecord], _ now: Timestamp) throws -> TokenRecord {
        if let record = known.first(where: { $0.id == text }) { return record }
        let named = known.filter { $0.name == text }
        let usable = named.filter { $0.state(at: now) == .usable }
        guard usable.count < 2 else {
            throw ExitError(
                .usage,
                "“\(text)” is the name of the tokens \(usable.map(\.id).joined(separator: " and ")); give an id")
        }
        if let record = usable.first ?? named.last { return record }
        let near = NearestName.suggestion(for: text, among: known.map(\.name))
        throw ExitError(.input, "there is no access token “\(text)” in \(data.path)\(near)")
    }
}
