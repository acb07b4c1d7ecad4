internal import ArgumentParser
internal import Commands
internal import Console
internal import Door
internal import Glibc
internal import Host
internal import Queue

struct UploadsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "uploads",
        abstract: "List and remove the uploads that the door has taken.",
        discussion: """
            An upload is open until its last byte is on disk. With a route it becomes a command or a flow of the same id, which \
            “sluice status ID” shows; without one its bytes stay in spool/uploads of the data directory until it is removed. \
            One that its client may ask for stays in the list for a day after its bytes were deleted.

            EXAMPLES
              sluice uploads list
              sluice uploads list --state complete --json | jq -r .id
              sluice uploads remove 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f
            """,
        subcommands: [UploadListCommand.self, UploadRemoveCommand.self], defaultSubcommand: UploadListCommand.self)
}

struct UploadListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List uploads, the newest first.",
        discussion: """
            EXAMPLES
              sluice uploads list
              sluice uploads list --state open
              sluice uploads list --limit 1000 --json | jq -r 'select(.command == null) | .id'
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Option(name: .long, help: "Only uploads that are open, complete or ended.")
    var state: UploadState?

    @Option(name: .long, help: ArgumentHelp("At most this many.", valueName: "count"))
    var limit = 50

    func validate() throws {
        guard (1...1000).contains(limit) else { throw ValidationError("--limit must be from 1 to 1000.") }
    }

    func run() throws {
        let queue = try data.queue()
        let (uploads, hasMore) = try queue.uploads(state, limit: limit)
        if print.json {
            for upload in uploads { Output.line(upload.json.bytes) }
        } else if uploads.isEmpty {
            Diagnostics.say("no uploads\(state.map { " that are \($0.name)" } ?? "")")
        } else {
            show(uploads, now: queue.now)
        }
        if hasMore {
            Output.flush()
            Diagnostics.say("these are the newest \(limit) uploads, and there are more; --limit prints up to 1000")
        }
        try data.warn(of: queue)
    }

    private func show(_ uploads: [Upload], now: Timestamp) {
        var table = Table([
            ("ID", .left), ("STATE", .left), ("BYTES", .right), ("OF", .right), ("AGE", .right), ("BECAME", .left),
            ("NAME", .left),
        ])
        for upload in uploads {
            let became =
                upload.command.map { $0 == upload.id ? "its command" : "\($0)" } ?? (upload.facts.route ?? "-")
            table.add([
                upload.id.description, upload.state.name, Figures.bytes(upload.offset),
                upload.length.map { Figures.bytes($0) } ?? "?", max(now - upload.createdAt, .zero).roundText, became,
                upload.reason ?? upload.facts.fileName.map { TerminalText.cut($0, width: 60) } ?? "-",
            ])
        }
        for line in table.lines { Output.line(line) }
    }
}

extension UploadState: ExpressibleByArgument {
    public init?(argument: String) { self.init(name: argument) }
    public static var allValueStrings: [String] { allCases.map(\.name) }
}

struct UploadRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove uploads that have not become commands, with their bytes.",
        discussion: """
            The client of an open upload is told that it has ended. Cancel the command of an upload that has become one; the \
            door deletes its bytes when the command has succeeded or is pruned.

            EXAMPLES
              sluice uploads remove 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f
              sluice uploads list --state complete --json | jq -r 'select(.command == null) | .id' | xargs sluice uploads remove
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The uploads.", valueName: "id"))
    var ids: [CommandIDPart]

    func run() throws {
        let queue = try data.queue()
        var isRefused = false
        for part in ids {
            guard let id = part.id else {
                throw ExitError(.usage, "“\(part)” is a part of an id; give the whole id of an upload")
            }
            let removal: UploadRemoval
            do { removal = try queue.removeUpload(id) } catch let error as SystemError {
                throw ExitError(.cannotWrite, "\(error); the door removes it within a day")
            }
            let outcome: String
            switch removal {
            case .missing: throw ExitError(.input, "there is no upload \(id) in \(data.place)")
            case .ended: outcome = "has ended before"
            case .isCommand(let command): outcome = "has become command \(command); cancel that instead"
            case .removed: outcome = "removed"
            }
            if removal != .removed { isRefused = true }
            if print.json {
                Output.line(
                    JSONValue.object([
                        .init("id", .string(id.description)), .init("removed", .bool(removal == .removed)),
                        .init("outcome", .string(outcome)),
                    ]).bytes)
            } else {
                Output.line("\(id): \(outcome)")
            }
        }
        try data.warn(of: queue)
        if isRefused { throw ExitError(.failed, nil) }
    }
}
