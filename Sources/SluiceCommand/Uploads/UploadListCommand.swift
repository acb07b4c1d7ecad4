internal import ArgumentParser
internal import Commands
internal import Console
internal import Door
internal import Queue

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
