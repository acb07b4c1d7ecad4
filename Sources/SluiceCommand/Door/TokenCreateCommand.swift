internal import ArgumentParser
internal import Commands
internal import Door
internal import Queue

struct TokenCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make an access token. Prints it once.",
        discussion: """
            The token is the only line on standard output. It cannot be shown again: the store has only a digest. It is valid \
            at once, without a restart of the door. With the scope “grant” a site makes tokens for its visitors over HTTP (POST \
            /api/v1/tokens): they send uploads, and have no more routes, bytes or time than this one, and a day at most.

            EXAMPLES
              sluice token create studio --scope upload,read --route archive --route publish --expires 90d
              sluice token create feed --scope submit --type webhook --to https://hooks.example.com
              sluice token create grafana --scope metrics > grafana.token
              sluice token create site --scope upload,grant --route archive > site.token
              TOKEN=$(sluice token create ci --scope submit,read --expires 2h)
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: "1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-”.")
    var name: String

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp(
            "What it may do: upload, submit, read, control, metrics and grant, separated by commas.",
            valueName: "scopes"))
    var scope: [ScopesArgument]

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp(
            "A route that its uploads may take; may be given several times (default: all).", valueName: "route"))
    var route: [String] = []

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp("A type that it may submit; may be given several times (default: all).", valueName: "type"))
    var type: [String] = []

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp(
            "A destination of the commands that it may submit; may be given several times (default: all).",
            valueName: "url"))
    var to: [DestinationArgument] = []

    @Option(
        name: .long,
        help: ArgumentHelp("When it expires: 30d, or RFC 3339 (default: never).", valueName: "time"))
    var expires: TimeArgument?

    func validate() throws {
        guard TokenRecord.isName(name) else {
            throw ValidationError("'\(name)' is not the name of a token: \(TokenRecord.nameForm).")
        }
        guard name != MachineToken.name else {
            throw ValidationError("“\(name)” is the token of this machine, which the door makes; choose another name.")
        }
        if !route.isEmpty, !scopes.contains(.upload) {
            throw ValidationError("--route limits uploads, which a token without the scope “upload” may not send.")
        }
        if scopes.contains(.grant), !scopes.contains(.upload) {
            throw ValidationError(
                "A token with the scope “grant” gives the right to upload, so it needs the scope “upload” too.")
        }
        if !type.isEmpty || !to.isEmpty, !scopes.contains(.submit) {
            throw ValidationError("--type and --to limit submits, for which a token needs the scope “submit”.")
        }
        for name in route where !UploadRoute.isName(name) {
            throw ValidationError("'\(name)' is not the name of a route: \(UploadRoute.nameForm).")
        }
        for type in type where !CommandDraft.isType(type) {
            throw ValidationError("'\(type)' is not a command type: use 1 to 64 of a-z, 0-9, “.” and “-”.")
        }
        if let expires, expires.time <= .now { throw ValidationError("--expires is in the past.") }
    }

    private var scopes: Set<Scope> { Set(scope.flatMap(\.scopes)) }

    func run() throws {
        let queue = try data.queue(create: true)
        let now = queue.now
        let token = AccessToken()
        var record = TokenRecord(token, name: name, scopes: scopes, created: now)
        if !route.isEmpty { record.routes = Set(route) }
        if !type.isEmpty { record.types = Set(type) }
        if !to.isEmpty { record.destinations = Set(to.map(\.destination)) }
        record.expires = expires?.time
        // The token is shown once.
        try Output.require(bytes: 1024)
        try TokenStore(queue).add(record, now: now)
        if print.json {
            Output.line(
                JSONValue.object([.init("token", .string(token.text))] + record.members(now: now)).bytes)
        } else {
            Output.line(token.text)
        }
        Output.flush()
        let end = record.expires.map { "It expires at \($0)." } ?? "It does not expire."
        Diagnostics.say(
            "“\(name)” (\(record.id)) may \(TokenText.sentence(record)). \(end) The token is not shown again.")
        sayUnknownRoutes()
        try data.warn(of: queue)
    }

    /// The route may be added to the configuration later.
    private func sayUnknownRoutes() {
        guard !route.isEmpty, let known = try? ConfiguredRoutes.read(data).names else { return }
        for name in route where !known.contains(name) {
            let near = NearestName.suggestion(for: name, among: known)
            Diagnostics.say("the configuration has no route “\(name)”\(near)")
        }
    }
}

/// `--scope`: scopes, separated by commas.
struct ScopesArgument: ExpressibleByArgument {
    let scopes: [Scope]

    init?(argument: String) {
        let names = argument.split(separator: ",", omittingEmptySubsequences: false)
        let scopes = names.compactMap { Scope(rawValue: String($0)) }
        guard scopes.count == names.count else { return nil }
        self.scopes = scopes
    }

    static var allValueStrings: [String] { Scope.allCases.map(\.rawValue) }
    static var allValueDescriptions: [String: String] { [:] }
    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
}
