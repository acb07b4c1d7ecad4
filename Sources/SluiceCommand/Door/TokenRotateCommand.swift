internal import ArgumentParser
internal import Commands
internal import Door
internal import Host
internal import Queue

struct TokenRotateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Replace an access token by a new one with its name and rights. Prints it once.",
        discussion: """
            Uploads, idempotency keys and shares of the door belong to the name, so a client with the new token goes on where \
            it was. The old token is revoked at once, or with --overlap stays usable beside the new one for that time. The \
            new one lasts as long as the old one was made for. Tokens that the old one has made over HTTP stay usable.

            EXAMPLES
              sluice token rotate studio > studio.token
              sluice token rotate studio --overlap 1h --expires 90d > studio.token
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The id or name of the token.", valueName: "id|name"))
    var token: String

    @Option(
        name: .long, help: ArgumentHelp("How long the old token stays usable (default: 0s).", valueName: "duration"))
    var overlap: DurationArgument?

    @Option(
        name: .long,
        help: ArgumentHelp("When the new token expires: 30d, or RFC 3339 (default: as the old one).", valueName: "time")
    )
    var expires: TimeArgument?

    func validate() throws {
        if let expires, expires.time <= .now { throw ValidationError("--expires is in the past.") }
    }

    func run() throws {
        let queue = try data.queue()
        let now = queue.now
        let tokens = TokenStore(queue)
        let earlier = try TokenText.record(token, in: try tokens.tokens().records, data, now: now)
        guard earlier.name != MachineToken.name else {
            throw ExitError(
                .usage,
                "“\(earlier.name)” is the token of this machine; revoke it, and the door writes another one to "
                    + "\(queue.directory.doorToken) at its next start")
        }
        let text = AccessToken()
        // The token is shown once.
        try Output.require(bytes: 1024)
        var end = expires?.time
        if end == nil, let earlierEnd = earlier.expires { end = now + (earlierEnd - earlier.created) }
        let (record, old) = try tokens.rotate(
            earlier, to: text, expires: end, overlap: overlap?.duration ?? .zero, now: now)
        if print.json {
            Output.line(
                JSONValue.object([.init("token", .string(text.text))] + record.members(now: now)).bytes)
        } else {
            Output.line(text.text)
        }
        Output.flush()
        let newEnd = end.map { "It expires at \($0)." } ?? "It does not expire."
        var oldEnd = "is revoked"
        if old.revoked == nil, let expires = old.expires { oldEnd = "is usable until \(expires)" }
        Diagnostics.say(
            "“\(record.name)” (\(record.id)) may \(TokenText.sentence(record)). \(newEnd) The earlier one (\(old.id)) \(oldEnd). "
                + "The token is not shown again.")
        try data.warn(of: queue)
    }
}
