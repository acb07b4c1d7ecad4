internal import ArgumentParser
internal import Commands
internal import Glibc
internal import Queue

struct SubmitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "submit",
        abstract: "Submit commands of any type. Prints one UUID a line as soon as it is durable.",
        discussion: """
            The payload is JSON: the argument, a file (@file), or lines of standard input (-). Each line of standard input \
            is an object with “payload” and optionally “qos”, “idempotent”, “uniqueKey”, “uniqueFor”, “retryLimit”, \
            “notBefore”, “deadline”, “destination”, “after”, “orderingKey”, “keyLimit”, “keyFailure”, “batch” and “limit”; the options of the command line are their defaults. An invalid \
            line ends the bulk with its number; the lines before it stay submitted. A line that only the store can refuse \
            (its unique key belongs to another payload) ends the bulk too, but up to 4,096 lines after it may have been \
            submitted. The UUIDs of all submitted commands are printed; --json adds the number of the line, and whether \
            the command existed already under its unique key.

            Two payloads with one unique key are equal where their bytes are equal: white space and the order of members \
            count.

            The payload of “noop” may have “milliseconds” (its duration). That of “upload” has “file” and “to”, and may \
            have “method”, “headers”, “protocol” and “removeSource”, as the options of “sluice put”, “name” (the file's \
            name at the destination) and “mode” (octal permissions of a copy to a file: URL). That of “request” has “url”, and \
            may have “method”, “headers”, one of “body”, “json”, “bodyBase64” and “bodyFile”, “accept”, “redirects”, \
            “keepHeaders” and “timeout”, as the options of “sluice request”. That of “webhook” has “url”, and “type” with \
            “data” and “time”, or “body” (text), and may have “endpoint” and “id”. That of “s3” has “file”, “endpoint”, \
            “bucket” and “key”, or “file” and “presigned”, and may have “region”, “addressing”, “partSize”, “contentType”, \
            “metadata”, “headers”, “ifAbsent”, “checksum” and “removeSource”, as the options of “sluice s3 put”. That of \
            “exec” has “program” and may have “arguments” (a list), “stdin” (text) or “stdinFile”, “environment”, \
            “directory”, “timeout”, “idleTimeout” and “grace” (seconds), “idempotent”, “stdout” and “stderr” (objects with \
            “keep”, “limit” and “to”) and “values”. That of “sync” \
            has “url” and “collection”, and may have the options of “sluice sync”, with “items” for --records.

            EXAMPLES
              sluice submit noop
              sluice submit noop --payload '{"milliseconds": 20}' --qos userInteractive --wait
              sluice submit upload --payload '{"file": "/data/a.mp4", "to": "https://media.example.com/in/"}'
              sluice submit upload --payload @upload.json
              sluice submit noop --unique-key nightly-2026-11-25
              sluice submit noop --unique-key refresh --unique-for 10m
              sluice submit noop --ordering-key customer-7
              sluice submit request --limit quotes-api --payload @quote.json
              sluice submit noop --after 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f
              seq 100000 | sed 's/.*/{"payload":{}}/' | sluice submit noop --payload - > uuids
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var fields: SubmitFields

    @Argument(
        help: ArgumentHelp(
            "The type: cleanup, download, exec, fetch, noop, request, s3, sync, upload, webhook, or one of your own workers'.",
            valueName: "type"),
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
        name: .long,
        help: ArgumentHelp("The destination of the command, where its operation does not know it.", valueName: "url")
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
            throw ValidationError("'\(type)' is not a command type: use 1 to 64 of a-z, 0-9, '.' and '-'.")
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
        let registry = try await SubmitRegistry.registry(for: type, data)
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
            throw ExitError(.data, "\(name) is not valid JSON: \(error)")
        }
    }
}
