internal import ArgumentParser
internal import Commands
internal import Glibc
internal import Operations
internal import Sluice
internal import Store
internal import Work

struct SubmitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "submit",
        abstract: "Submit commands of any type. Prints one UUID a line as soon as it is durable.",
        discussion: """
            The payload is JSON, read from the argument, from a file (@file), or in bulk from standard input (-): then \
            each line is an object with “payload” and, where wanted, “qos”, “idempotent”, “uniqueKey”, “uniqueFor”, \
            “retryLimit”, “notBefore”, “deadline” and “destination”; the options of the command line are the \
            defaults. A line that cannot be read ends the bulk with its number; the lines before it are kept. One that \
            only the store can refuse (its unique key is another's) does so too, but up to 4,096 lines behind it may \
            have gone with it: what was accepted is printed, with --json together with the number of its line and \
            whether the command is an existing one that its unique key has found.

            Payloads are equal under a unique key where their bytes are: white space and the order of members count.

            Of “noop” the payload may have “milliseconds” (how long it takes); of “upload” it has “file” and “to”, and \
            may have “method”, “headers”, “protocol” and “removeSource”, as the options of “sluice put”, “name” \
            (what the destination is to call the file) and “mode” (octal permissions of a copy to a file: URL).

            EXAMPLES
              sluice submit noop
              sluice submit noop --payload '{"milliseconds": 20}' --qos userInteractive --wait
              sluice submit upload --payload '{"file": "/data/a.mp4", "to": "https://media.example.com/in/"}'
              sluice submit upload --payload @upload.json
              sluice submit noop --unique-key nightly-2026-11-25
              sluice submit noop --unique-key refresh --unique-for 10m
              seq 100000 | sed 's/.*/{"payload":{}}/' | sluice submit noop --payload - > uuids
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var fields: SubmitFields

    @Argument(
        help: ArgumentHelp("The type: noop, upload, or one of your own workers'.", valueName: "type"),
        completion: .list(CommandType.builtIn.sorted()))
    var type: String

    @Argument(
        help: ArgumentHelp("“-” reads JSON lines, as --payload - does.", valueName: "-"), completion: .list(["-"]))
    var source: String?

    @Option(
        name: .long, help: ArgumentHelp("JSON, @file, or - for JSON lines on standard input.", valueName: "json"),
        completion: .file())
    var payload: String?

    @Option(
        name: .long, help: ArgumentHelp("Whom the command talks to, where its operation cannot tell.", valueName: "url")
    )
    var destination: DestinationArgument?

    @Flag(name: .long, help: "Accept a type that no worker has ever been able to run.")
    var allowUnknown = false

    @Flag(name: .long, help: "Wait until all have ended; exit 1 where one has not succeeded.")
    var wait = false

    func validate() throws {
        guard type != "-" else {
            throw ValidationError("The type comes first, as in “sluice submit noop -”.")
        }
        guard CommandDraft.isType(type) else {
            throw ValidationError("'\(type)' is no command type: use 1 to 64 of a-z, 0-9, '.' and '-'.")
        }
        if let source, source != "-" {
            throw ValidationError("Unexpected argument '\(source)': give the payload with --payload.")
        }
        if source != nil, payload != nil, payload != "-" {
            throw ValidationError("Give either - or --payload, not both.")
        }
        if !isBulk { try fields.requireKeyOfPeriod() }
    }

    private var isBulk: Bool { source == "-" || payload == "-" }

    func run() async throws {
        SignalHandling.exits()
        var options = fields.options
        options.destination = destination?.destination
        options.allowUnknownType = allowUnknown
        let registry = BuiltInOperations.registry(submission: .init(umask: SluiceTool.inheritedUmask))
        let ids: [CommandID]
        let client: SluiceClient
        if isBulk {
            client = try data.client(registry)
            let bulk = BulkSubmit(
                client: client, type: type, options: options, registry: registry, asJSON: print.json, keepsIDs: wait)
            ids = try await bulk.run()
        } else {
            let (payload, text) = try readPayload()
            let draft = try CommandDraft(
                type: type, payload: payload, text: text, options: options, registry: registry)
            client = try data.client(registry)
            ids = try await SubmissionPrinter(client: client, asJSON: print.json)
                .submit([draft], labels: [type], allowUnknownTypes: allowUnknown)
        }
        if wait { try await CompletionWaiter(client: client, ids: ids).run() }
        await client.close()
    }

    /// - Returns: the payload, and the bytes of its text without white space around it.
    private func readPayload() throws -> (JSONValue, text: [UInt8]) {
        guard let payload else { return (.object([]), Array("{}".utf8)) }
        let bytes: [UInt8]
        let name: String
        if payload.utf8.first == UInt8(ascii: "@") {
            name = String(Substring(payload.utf8.dropFirst()))
            bytes = try PayloadFile.read(name)
        } else {
            name = "the payload"
            bytes = Array(payload.utf8)
        }
        do throws(JSONError) {
            return (try JSONValue(parsing: bytes), JSONValue.trimmingSpace(around: bytes))
        } catch {
            throw ExitError(.data, "\(name) is no JSON: \(error)")
        }
    }
}
