internal import ArgumentParser
internal import BuiltIn
internal import Commands
internal import Queue

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
