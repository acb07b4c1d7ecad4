internal import ArgumentParser
internal import BuiltIn
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

struct BatchOpenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open",
        abstract: "Make a batch without members. Prints its UUID.",
        discussion: """
            Every submit takes --batch ID and makes its commands members, until the batch is sealed. A batch needs every \
            shard; where one cannot be written to, the message names it.

            EXAMPLES
              batch=$(sluice batch open --name import)
              sluice put *.mp4 https://media.example.com/in/ --batch $batch
              sluice batch seal $batch --wait
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var batch: BatchOptions

    @Flag(name: .long, help: "Accept types that no worker has ever been able to run.")
    var allowUnknown = false

    func run() async throws {
        let draft = try await batch.draft(data, allowUnknown: allowUnknown)
        let client = try data.client(BuiltInOperations.registry())
        try Output.require(bytes: SubmissionPrinter.lineBytes)
        let id = try await client.open(draft, allowUnknownTypes: allowUnknown)
        Output.line(print.json ? JSONValue.object([.init("id", .string(id.description))]).text : id.description)
        await client.close()
    }
}

/// The options of a new batch.
struct BatchOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("A name for people.", valueName: "name"))
    var name: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            A command that runs when all members have succeeded, as JSON: {"type": "request", "payload": {…}}, with \
            the other members of a line of “sluice submit -”.
            """, valueName: "json"))
    var thenSuccess: String?

    @Option(
        name: .long,
        help: ArgumentHelp("A command that runs when the batch has ended and a member has failed.", valueName: "json"))
    var thenFailure: String?

    @Option(name: .long, help: ArgumentHelp("A command that runs after any end of the batch.", valueName: "json"))
    var thenEnd: String?

    var isGiven: Bool { name != nil || thenSuccess != nil || thenFailure != nil || thenEnd != nil }

    func draft(_ data: DataOptions, allowUnknown: Bool) async throws -> BatchDraft {
        var draft = BatchDraft(name ?? "")
        let callbacks: [(String, DependencyCondition, String?)] = [
            ("--then-success", .success, thenSuccess), ("--then-failure", .failure, thenFailure),
            ("--then-end", .end, thenEnd),
        ]
        for (option, condition, text) in callbacks {
            guard let text else { continue }
            do {
                draft.callbacks.append(
                    .init(on: condition, try await Self.callback(text, data, allowUnknown: allowUnknown)))
            } catch {
                let exitError = ExitError(error)
                throw ExitError(exitError.code, "\(option): \(exitError.message ?? "")")
            }
        }
        return draft
    }

    private static func callback(
        _ text: String, _ data: DataOptions, allowUnknown: Bool
    ) async throws -> CommandDraft {
        let value: JSONValue
        do throws(JSONError) { value = try JSONValue(parsing: Array(text.utf8)) } catch {
            throw ExitError(.data, "not valid JSON: \(error)")
        }
        guard case .object(let members) = value, let type = value["type"]?.string else {
            throw ExitError(.data, "give an object with “type”, and “payload” for its operation, not \(value.text)")
        }
        var options = SubmitOptions()
        options.allowUnknownType = allowUnknown
        for member in members where member.name != "type" && member.name != "payload" {
            try BulkField.read(member, into: &options)
        }
        let registry = try await SubmitRegistry.registry(for: type, data)
        return try CommandDraft(
            type: type, payload: value["payload"] ?? .object([]), options: options, registry: registry)
    }
}
