internal import ArgumentParser
internal import Commands
internal import Console
internal import Glibc
internal import Queue
internal import Sync

struct CollectionPutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Insert or replace records of a collection on this side.",
        discussion: """
            The rows are marked as local. The next sync replaces them, keeps them, or takes the newest, as its --merge says.

            EXAMPLES
              sluice collection put quotes '{"id": 7, "text": "…"}'
              sluice collection put quotes @changed.ndjson
              jq -c '.[]' new.json | sluice collection put quotes -
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The collection.", valueName: "name"))
    var name: String

    @Argument(
        help: ArgumentHelp("A record in JSON, @file with a record a line, or - for standard input.", valueName: "json"))
    var record: String

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp("Pointer to the key, for a collection that was never synced.", valueName: "pointer"))
    var key: [String] = []

    func run() async throws {
        SignalHandling.exits()
        let lines: [UInt8]
        if record == "-" {
            lines = try PayloadFile.read(StandardInput.path)
        } else if record.utf8.first == UInt8(ascii: "@") {
            lines = try PayloadFile.read(String(Substring(record.utf8.dropFirst())))
        } else {
            lines = record.utf8.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }
        }
        let queue = try data.queue(create: true)
        // The first collection makes the directory, which the configuration may have elsewhere.
        let target = try await ConfigurationFile(data, queue.directory).collectionsDirectory
        let result = try CollectionCommand.run {
            try CollectionWriter(CollectionDirectory(data: data.path, at: target), name)
                .put(lines: lines, key: key.isEmpty ? nil : key)
        }
        guard !print.json else { return Output.line(result.json.bytes) }
        Output.line(
            "\(name) is at revision \(result.rev): \(Figures.grouped(Int64(result.inserted))) inserted, "
                + "\(Figures.grouped(Int64(result.updated))) updated, \(Figures.grouped(Int64(result.unchanged))) unchanged"
        )
    }
}

struct CollectionRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Delete records of a collection on this side.",
        discussion: """
            A record that the remote still lists comes back with the next sync that reads the whole list.

            EXAMPLE
              sluice collection remove quotes 7 8
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The collection.", valueName: "name"))
    var name: String

    @Argument(help: ArgumentHelp("The keys.", valueName: "key"))
    var keys: [String]

    func run() async throws {
        SignalHandling.exits()
        let directory = CollectionDirectory(data: data.path)
        let result = try CollectionCommand.run {
            // An error for a name that is not a collection: to remove from it makes none.
            _ = try CollectionReader(directory, name)
            return try CollectionWriter(directory, name).remove(keys)
        }
        guard result.deleted > 0 else { throw ExitError(.input, "no record of \(name) has such a key") }
        if print.json {
            Output.line(result.json.bytes)
        } else {
            Output.line("\(name) is at revision \(result.rev): \(result.deleted) deleted")
        }
    }
}
