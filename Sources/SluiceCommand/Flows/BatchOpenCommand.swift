internal import ArgumentParser
internal import BuiltIn
internal import Commands
internal import Queue

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
