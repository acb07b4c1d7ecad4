internal import ArgumentParser
internal import Commands
internal import Console
internal import Door
internal import Queue

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
