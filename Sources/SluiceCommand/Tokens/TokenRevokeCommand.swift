internal import ArgumentParser
internal import Commands
internal import Door
internal import Queue

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
