internal import ArgumentParser
internal import Commands
internal import Console
internal import Glibc
internal import Queue
internal import Sync

struct CollectionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "collection",
        abstract: "Look at the collections that sync keeps, and change their rows.",
        discussion: """
            A collection is one SQLite file, which other programs may read while a sync writes it. They open it read-only:
              sqlite3 'file:sluice-data/collections/quotes.sqlite?mode=ro' 'SELECT count(*) FROM record'

            EXAMPLES
              sluice collection list
              sluice collection show quotes
              sluice collection query quotes --limit 20
              sluice collection query quotes --json | jq .text
              sluice collection query quotes --sql 'SELECT author, count(*) FROM record GROUP BY author'
            """,
        subcommands: [
            CollectionListCommand.self, CollectionShowCommand.self, CollectionQueryCommand.self,
            CollectionPutCommand.self, CollectionRemoveCommand.self,
        ])

    /// Runs `body`, and gives an error of a collection its exit code.
    static func run<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as CollectionError {
            throw ExitError(code(error.problem), error.description)
        }
    }

    static func code(_ problem: CollectionError.Problem) -> ExitCode {
        switch problem {
        case .missing: .input
        case .foreign: .data
        case .damaged: .internalError
        case .busy, .changed: .tryAgain
        case .system: .cannotWrite
        case .invalid: .data
        }
    }
}

struct CollectionListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the collections: records, revision, last sync and URL.",
        discussion: """
            A collection that cannot be read has its problem in its row, and does not end the others; then the exit code \
            is not 0.

            EXAMPLES
              sluice collection list
              sluice collection list --json | jq 'select(.problem)'
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    func run() async throws {
        SignalHandling.exits()
        let directory = CollectionDirectory(data: data.path)
        var rows: [(name: String, row: Row)] = []
        let problems = try CollectionCommand.run {
            try directory.visit { name, reader in rows.append((name, .summary(try reader.summary()))) }
        }
        rows += problems.map { ($0.name, .problem($0.error, path: directory.file($0.name))) }
        rows.sort { $0.name < $1.name }
        if print.json { for (name, row) in rows { Output.line(row.json(name).bytes) } } else { show(rows) }
        guard let first = problems.first else { return }
        throw ExitError(
            CollectionCommand.code(first.error.problem),
            "\(problems.count) of \(rows.count) collections cannot be read")
    }

    private func show(_ rows: [(name: String, row: Row)]) {
        var table = Table([
            ("NAME", .left), ("RECORDS", .right), ("REV", .right), ("SYNCED", .left), ("URL", .left),
        ])
        for (name, row) in rows { table.add([name] + row.cells) }
        if table.isEmpty { Diagnostics.say("there are no collections; “sluice sync” makes one") }
        let columns = Output.isTerminal ? Terminal.size.columns : Int.max
        for line in table.isEmpty ? [] : table.lines { Output.line(TerminalText.cut(line, width: columns)) }
    }

    /// A collection, or why it cannot be read.
    private enum Row {
        case summary(CollectionSummary)
        case problem(CollectionError, path: String)

        var cells: [String] {
            switch self {
            case .summary(let summary):
                [
                    Figures.grouped(summary.records), "\(summary.rev)", summary.syncedAt.map { "\($0)" } ?? "-",
                    summary.url ?? "-",
                ]
            case .problem(let error, _): ["-", "-", "-", error.description]
            }
        }

        func json(_ name: String) -> JSONValue {
            switch self {
            case .summary(let summary): summary.json
            case .problem(let error, let path):
                .object([
                    .init("name", .string(name)), .init("path", .string(path)),
                    .init("problem", .string(error.problem.rawValue)), .init("message", .string(error.description)),
                ])
            }
        }
    }
}

struct CollectionShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show the state of a collection.",
        discussion: "EXAMPLE\n  sluice collection show quotes")

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The collection.", valueName: "name"))
    var name: String

    func run() async throws {
        SignalHandling.exits()
        let summary = try CollectionCommand.run {
            try CollectionReader(CollectionDirectory(data: data.path), name).summary()
        }
        guard !print.json else { return Output.line(summary.json.bytes) }
        let rows: [(String, String?)] = [
            ("name", summary.name), ("revision", "\(summary.rev)"), ("records", Figures.grouped(summary.records)),
            ("changed here", summary.localRecords == 0 ? nil : Figures.grouped(summary.localRecords)),
            ("left out", summary.rejects == 0 ? nil : Figures.grouped(summary.rejects)),
            ("under way", summary.staged == 0 ? nil : "\(Figures.grouped(summary.staged)) records are staged"),
            ("synced", summary.syncedAt.map { "\($0)" } ?? "never"), ("url", summary.url),
            ("command", summary.command),
            ("columns", summary.columns.isEmpty ? nil : summary.columns.joined(separator: ", ")),
            ("changes", "kept since revision \(summary.oldestRev)"), ("file", summary.path),
        ]
        for case (let name, let value?) in rows { Output.line(TerminalText.fit(name, width: 14) + value) }
    }
}

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
        let target = try ConfigurationFile(data, queue.directory).collectionsDirectory
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
