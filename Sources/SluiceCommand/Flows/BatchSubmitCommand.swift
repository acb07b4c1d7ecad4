internal import ArgumentParser
internal import Commands
internal import Console
internal import Glibc
internal import Queue

struct BatchSubmitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "submit",
        abstract: "Open a batch, submit its members from standard input, and seal it. Prints the UUID of the batch.",
        discussion: """
            Each line of standard input is an object with “payload”, as those of “sluice submit TYPE -”. An invalid line \
            ends the bulk with its number; the lines before it stay submitted, and the batch stays open: “--into” adds the \
            rest, and “sluice cancel” cancels it. The same holds where this program is interrupted or killed.

            EXAMPLES
              seq 1000 | sed 's/.*/{"payload":{}}/' | sluice batch submit noop - --name demo --wait
              sluice batch submit download - --then-end '{"type": "noop"}' < urls.jsonl
              tail -n +501 urls.jsonl | sluice batch submit download - --into 1c2d4e5f
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var batch: BatchOptions
    @OptionGroup var fields: SubmitFields

    @Argument(
        help: ArgumentHelp("The type of the members.", valueName: "type"),
        completion: .list(CommandType.builtIn.sorted()))
    var type: String

    @Argument(help: ArgumentHelp("“-” reads JSON lines from standard input.", valueName: "-"), completion: .list(["-"]))
    var source = "-"

    @Option(name: .long, help: ArgumentHelp("Add to this batch, which is open, instead of a new one.", valueName: "id"))
    var into: CommandIDPart?

    @Flag(name: .long, help: "Leave the batch open, for more members.")
    var keepOpen = false

    @Flag(name: .long, help: "Accept types that no worker has ever been able to run.")
    var allowUnknown = false

    @Flag(name: .long, help: "Wait until the batch has ended; exit 1 where it is not a success.")
    var wait = false

    func validate() throws {
        guard source == "-" else {
            throw ValidationError("Members come from standard input: “sluice batch submit \(type) -”.")
        }
        guard CommandDraft.isType(type) else {
            throw ValidationError("'\(type)' is not a command type: use 1 to 64 of a-z, 0-9, '.' and '-'.")
        }
        if fields.batch != nil { throw ValidationError("Use --into to add to a batch.") }
        if into != nil, batch.isGiven {
            throw ValidationError("--into adds to a batch that is there: its name and callbacks stay as they are.")
        }
        if wait, keepOpen {
            throw ValidationError("A batch that is kept open does not end: use --wait without --keep-open.")
        }
    }

    func run() async throws {
        SignalHandling.exits()
        var options = fields.options
        options.allowUnknownType = allowUnknown
        let registry = try await SubmitRegistry.registry(for: type, data)
        let client = try data.client(registry)
        try Output.require(bytes: SubmissionPrinter.lineBytes)
        let id: CommandID
        if let into {
            id = try BatchShowCommand.batch(into, client.access, data).command.id
        } else {
            id = try await client.open(
                try await batch.draft(data, allowUnknown: allowUnknown), allowUnknownTypes: allowUnknown)
        }
        let remedy =
            "add the others with “sluice batch submit \(type) - --into \(id)”, or cancel it with “sluice cancel \(id)”"
        SignalHandling.exits { Diagnostics.say("batch \(id) is open, and keeps the members so far; \(remedy)") }
        // The batch is durable: a person can find it, whatever happens to its members.
        if !print.json {
            Output.line(id.description)
            Output.flush()
        }
        options.batch = id
        let bulk = BulkSubmit(
            client: client, type: type, options: options, registry: registry, asJSON: print.json, keepsIDs: false,
            isQuiet: true)
        do {
            _ = try await bulk.run()
        } catch {
            let exitError = ExitError(error)
            throw ExitError(
                exitError.code,
                "\(exitError.message ?? ""); the lines before it are members of batch \(id), which is open: \(remedy)")
        }
        if !keepOpen { try await client.seal(id) }
        SignalHandling.exits()
        if print.json, let state = try await client.batch(id) { Output.line(BatchJSON.value(of: state).bytes) }
        if wait { try await CompletionWaiter(client: client, ids: [id]).run() }
        await client.close()
    }
}
