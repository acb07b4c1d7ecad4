internal import ArgumentParser
internal import BuiltIn
internal import Commands
internal import FileOps
internal import Queue
internal import Webhook

struct WebhookCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhook",
        abstract: "Send a signed webhook, or those that failed again; list, pause and resume endpoints.",
        discussion: """
            Without a subcommand it sends; “sluice webhook send --help” has the options.

            The message is signed as Standard Webhooks demands (webhook-id, webhook-timestamp, webhook-signature), anew \
            for each attempt. The secrets are those of the endpoint in sluice.yaml that has the origin of the URL: \
            see “webhooks” in deploy/sluice.example.yaml. For a receiver that verifies no signature use “sluice request”.

            With --type the message is {"type", "timestamp", "data"}, whose data is the JSON of --json-body or \
            --body-file. Without it the body is sent as it is. At most 256 KiB are sent; less than 20 kB are advised.

            A message that the receiver refuses or does not answer is sent again after 5 s, 5 min, 30 min, and 2, 5, 10, \
            14, 20 and 24 h. It may arrive twice, with one webhook-id. A redirect and 410 end it at once.

            A URL whose receiver answers 410, and an endpoint that accepts nothing for 3 days, is paused: its messages \
            wait, uncharged, until “sluice webhook resume”. Other URLs of the endpoint go on.

            EXAMPLES
              sluice webhook https://billing.example.com/hooks --type invoice.paid --json-body '{"id":"in_7"}'
              sluice webhook https://billing.example.com/hooks --type invoice.paid --body-file invoice.json --wait
              sluice webhook list
              sluice webhook resume billing
              sluice webhook replay billing --since 2h --dry-run
            """,
        subcommands: [
            WebhookSendCommand.self, WebhookListCommand.self, WebhookPauseCommand.self, WebhookResumeCommand.self,
            WebhookReplayCommand.self,
        ],
        defaultSubcommand: WebhookSendCommand.self)
}

struct WebhookSendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Send a signed webhook. Prints its UUID, or with --wait the answer.",
        discussion: """
            “sluice webhook --help” says how a message is signed, and when it is sent again.

            EXAMPLES
              sluice webhook https://billing.example.com/hooks --type invoice.paid --json-body '{"id":"in_7"}'
              sluice webhook https://billing.example.com/hooks --type invoice.paid --body-file invoice.json --wait
              sluice webhook https://billing.example.com/hooks --json-body '{"event":"ping"}' --endpoint billing
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var fields: SubmitFields

    @Argument(help: ArgumentHelp("The URL of the receiver.", valueName: "url"))
    var url: String

    @Option(
        name: .long,
        help: ArgumentHelp("The event: letters, digits, underscores and dots, as in invoice.paid.", valueName: "event"))
    var type: String?

    @Option(
        name: .long,
        help: ArgumentHelp("The data of the event, as JSON; without --type the whole body.", valueName: "json"))
    var jsonBody: String?

    @Option(
        name: .long, help: ArgumentHelp("A file with the same. It is read now.", valueName: "file"),
        completion: .file())
    var bodyFile: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "When the event happened: RFC 3339. (default: when it is submitted)", valueName: "time"))
    var time: TimeArgument?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The endpoint in sluice.yaml whose secrets sign. Needed where several have the origin of the URL.",
            valueName: "name"))
    var endpoint: String?

    @Option(
        name: .long,
        help: ArgumentHelp("The id of the message. (default: msg_ and the UUID of the command)", valueName: "id"))
    var id: String?

    @Flag(name: .long, help: "Wait for the answer and print it; exit 1 where the message was not accepted.")
    var wait = false

    func validate() throws {
        if !url.contains("://") { throw ValidationError("Give the URL of the receiver: '\(url)' is not a URL.") }
        if jsonBody != nil, bodyFile != nil { throw ValidationError("--json-body and --body-file exclude each other.") }
        if type == nil, jsonBody == nil, bodyFile == nil {
            throw ValidationError("Give the event by --type, or the whole body by --json-body or --body-file.")
        }
        if type == nil, time != nil { throw ValidationError("--time is the time of the event that --type names.") }
        if let endpoint, endpoint.beginsWithBytes(of: "whsec_") || endpoint.beginsWithBytes(of: "whsk_") {
            // Not quoted: it is a secret, and payloads are stored.
            throw ValidationError("--endpoint is the name of an endpoint in sluice.yaml, not a secret.")
        }
        try fields.requireKeyOfPeriod()
    }

    func run() async throws {
        SignalHandling.exits()
        let registry = BuiltInOperations.registry(submission: .init(umask: CommandLineRun.inheritedUmask))
        let draft = try CommandDraft(
            type: CommandType.webhook, payload: try payload(), options: fields.options, registry: registry)
        let endpoints = try ConfigurationFile(data, data.directory()).webhooks
        if let ambiguity = endpoints.ambiguity(of: draft.payload) {
            throw ExitError(.usage, "\(ambiguity) (--endpoint)")
        }
        let client = try data.client(registry)
        let ids = try await SubmissionPrinter(client: client, asJSON: print.json, isQuiet: wait)
            .submit([draft], labels: [url])
        if wait, let id = ids.first {
            try await CompletionWaiter(client: client, ids: ids).run()
            ResultPrinter(asJSON: print.json).show(try await client.wait(for: id))
        }
        await client.close()
    }

    private func payload() throws -> JSONValue {
        var members: [JSONValue.Member] = [.init("url", .string(url))]
        let text = try body()
        if let type {
            members.append(.init("type", .string(type)))
            if let text { members.append(.init("data", try Self.json(text.bytes, text.name))) }
            if let time { members.append(.init("time", .string(time.time.description))) }
        } else if let text {
            guard let body = String(validating: text.bytes, as: UTF8.self) else {
                throw ExitError(.data, "\(text.name) is not UTF-8, so that receivers could not verify it")
            }
            if jsonBody != nil { _ = try Self.json(text.bytes, text.name) }
            members.append(.init("body", .string(body)))
        }
        if let endpoint { members.append(.init("endpoint", .string(endpoint))) }
        if let id { members.append(.init("id", .string(id))) }
        return .object(members)
    }

    /// - Returns: the bytes of the body, and their origin for messages; nil where none is given.
    private func body() throws -> (bytes: [UInt8], name: String)? {
        if let jsonBody { return (Array(jsonBody.utf8), "--json-body") }
        return try bodyFile.map { (try PayloadFile.read($0), $0) }
    }

    private static func json(_ bytes: [UInt8], _ name: String) throws -> JSONValue {
        do throws(JSONError) {
            return try JSONValue(parsing: bytes)
        } catch {
            throw ExitError(.data, "\(name) is not valid JSON: \(error)")
        }
    }
}
