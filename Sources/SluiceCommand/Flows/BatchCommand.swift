internal import ArgumentParser
internal import BuiltIn
internal import Commands
internal import Console
internal import Queue

struct BatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "batch",
        abstract: "Submit and show batches: any number of commands that end as one.",
        discussion: """
            A batch is a command too: list, status, cancel, explain and --wait take its id, and other commands wait for it \
            with --after. It is blocked until it is sealed and its last member has ended: success, or gave up (tooManyTimes in JSON) where a \
            member has failed. Its members lie in all shards and run like any other command; those that must wait for each \
            other are a flow.

            EXAMPLES
              jq -c '{payload: {url: .}}' urls.json | sluice batch submit download - --name urls --wait
              sluice batch 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f
              batch=$(sluice batch open --name import)
              sluice submit noop --batch $batch
              sluice batch seal $batch
            """,
        subcommands: [
            BatchSubmitCommand.self, BatchOpenCommand.self, BatchSealCommand.self, BatchListCommand.self,
            BatchShowCommand.self,
        ],
        defaultSubcommand: BatchShowCommand.self)
}

struct BatchListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List batches, newest first: how many of their members have ended and failed.",
        discussion: """
            EXAMPLES
              sluice batch list
              sluice batch list --status blocked --json | jq -r .id
            """)

    @OptionGroup var list: CompositeList

    func validate() throws { try list.validate() }

    func run() throws {
        try list.run(of: CommandType.batch, named: "batches") { id, queue in
            guard case .found(let batch) = try queue.batch(id) else { return nil }
            return CompositeList.Row(
                json: BatchJSON.value(of: batch), command: batch.command, name: batch.name,
                status: batch.command.status == .blocked && !batch.isSealed ? "open" : batch.command.status.word,
                ended: batch.members - batch.open, count: batch.members, failed: batch.failed)
        }
    }
}

struct BatchShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a batch: how many of its members have ended and failed.",
        discussion: """
            “sluice batch ID” is the same as “sluice batch show ID”.

            EXAMPLES
              sluice batch 1c2d4e5f
              sluice list --batch 1c2d4e5f --status gaveUp
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The batch, by its id or any part of it.", valueName: "id"))
    var id: CommandIDPart

    func run() throws {
        let queue = try data.queue()
        Self.show(try Self.batch(id, queue, data), now: queue.now, asJSON: print.json)
        try data.warn(of: queue)
    }

    static func show(_ batch: BatchState, now: Timestamp, asJSON: Bool) {
        if asJSON { return Output.line(BatchJSON.value(of: batch).bytes) }
        for line in BatchText.lines(batch, now: now) { Output.line(line) }
    }

    static func batch(_ part: CommandIDPart, _ queue: QueueAccess, _ data: DataOptions) throws -> BatchState {
        let id = try queue.id(of: part)
        switch try queue.batch(id) {
        case .found(let batch): return batch
        case .missing: throw ExitError(.input, "there is no command \(id) in \(data.place)")
        case .other(let command, _):
            throw ExitError(
                .input, "command \(id) is of type “\(command.type)”, not a batch; “sluice status \(id)” shows it")
        }
    }
}

/// A batch as lines of text. Pure.
enum BatchText {
    static func lines(_ batch: BatchState, now: Timestamp) -> [String] {
        let end = batch.command.status.isFinal ? batch.command.updatedAt : now
        var facts = [
            batch.command.status.word,
            "\(Figures.grouped(Int64(batch.members - batch.open))) of \(Figures.grouped(Int64(batch.members))) ended",
        ]
        if batch.failed > 0 { facts.append("\(Figures.grouped(Int64(batch.failed))) failed") }
        facts.append((end - batch.command.createdAt).roundText)
        var lines = [
            (batch.name.isEmpty ? "" : "\(TerminalText.cut(batch.name, width: 40)) ") + batch.command.id.description,
            "  " + facts.joined(separator: " · "),
        ]
        if !batch.isSealed, !batch.command.status.isFinal {
            lines.append("  open: it takes more members, and ends after “sluice batch seal \(batch.command.id)”")
        }
        if batch.command.cancelRequested { lines.append("  it is being cancelled") }
        if batch.failed > 0 {
            lines.append("  “sluice list --batch \(batch.command.id) --status gaveUp” lists those that failed")
        }
        return lines
    }
}

struct BatchSealCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "seal",
        abstract: "Let no more members into a batch, so that it ends with its last member.",
        discussion: """
            EXAMPLES
              sluice batch seal 1c2d4e5f --wait
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The batch, by its id or any part of it.", valueName: "id"))
    var id: CommandIDPart

    @Flag(name: .long, help: "Wait until the batch has ended; exit 1 where it is not a success.")
    var wait = false

    func run() async throws {
        SignalHandling.exits()
        let client = try data.client(BuiltInOperations.registry())
        let id = try BatchShowCommand.batch(id, client.access, data).command.id
        try await client.seal(id)
        if let state = try await client.batch(id) { BatchShowCommand.show(state, now: client.now, asJSON: print.json) }
        if wait { try await CompletionWaiter(client: client, ids: [id]).run() }
        await client.close()
    }
}
