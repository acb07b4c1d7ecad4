internal import ArgumentParser
internal import Commands
internal import Console
internal import Membership
internal import Queue

struct StoreCopyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copy a stopped store to a PostgreSQL server, to a data directory, or to another database.",
        discussion: """
            FROM and TO are each a data directory or a URL. Ids, results, timelines, flows, schedules, settings and tokens are \
            copied, and the rows of both are counted and compared. TO is made with the shards of FROM, or is empty and has as \
            many. Everything on both stores must be stopped, and programs that submit by SQL wait for the end.

            Spooled files, collections, keys and the configuration stay in their data directory. Uploads that are open are \
            refused, since their bytes are spooled; --without-uploads leaves them out, and their clients start again. A copy \
            that is interrupted leaves a TO that every process refuses until the copy is made again.

            Exits with 75 where a store is in use, an upload is open, or a command waits in an inbox that TO would not have; \
            66 where FROM is not there; 65 where TO is not empty.

            EXAMPLES
              sluice store copy /var/lib/sluice postgres://owner@db1/queue
              sluice store copy postgres://app@db1/queue /srv/sluice-data
              sluice store copy postgres:///queue 'postgres:///queue?schema=jobs'
            """)

    @OptionGroup var print: PrintOptions

    @Flag(name: .long, help: "Leave out the uploads that are open.")
    var withoutUploads = false

    @Argument(
        help: "The store that is copied: a data directory, or postgres://USER@HOST/DATABASE.", completion: .directory)
    var from: String

    @Argument(help: "The copy: a data directory, or postgres://USER@HOST/DATABASE.", completion: .directory)
    var to: String

    func validate() throws { _ = try (Self.location(from, "FROM"), Self.location(to, "TO")) }

    private static func location(_ text: String, _ name: String) throws -> StoreLocation {
        if text.isEmpty { throw ValidationError("\(name) must not be empty.") }
        guard text.contains("://") else { return try StoreLocation(text) }
        try DataOptions.refuse(store: text, named: name)
        return try StoreLocation(".", store: text)
    }

    func run() throws {
        SignalHandling.exits()
        let (source, target) = try (Self.location(from, "FROM"), Self.location(to, "TO"))
        let unfinished = "\(target.name) is not complete, and every process refuses it; copy again, or remove it"
        var hasBegun = false
        do {
            let copied = try ServerStores.copy(source, to: target, withoutUploads: withoutUploads) {
                kind, rows, total in
                if !hasBegun { SignalHandling.exits { Diagnostics.say(unfinished) } }
                hasBegun = true
                guard !print.json else { return }
                let count = "\(Figures.grouped(Int64(rows))) of \(Figures.grouped(Int64(total))) rows"
                Diagnostics.showStatus { _ in
                    total == 0
                        ? "counting rows" : rows < total ? "\(count): \(kind)" : "\(count); comparing both stores"
                }
            }
            SignalHandling.exits()
            Diagnostics.clearStatus()
            if print.json { Output.line(Self.json(copied)) } else { Self.show(copied, target) }
        } catch {
            if hasBegun { Diagnostics.say(unfinished) }
            throw error
        }
    }

    // MARK: The report

    private static func json(_ copied: CopiedStore) -> [UInt8] {
        JSONValue.object([
            .init("from", .string(copied.from)), .init("to", .string(copied.to)),
            .init("rows", .object(copied.rows.map { .init($0.key, .integer(Int64($0.count))) })),
            .init("released", .integer(Int64(copied.claimed[.new] ?? 0))),
            .init("inDoubt", .integer(Int64(copied.claimed[.inDoubt] ?? 0))),
            .init("cancelled", .integer(Int64(copied.claimed[.cancelled] ?? 0))),
            .init("uploadsLeft", .integer(Int64(copied.uploadsLeft))),
            .init("spooledUploads", .integer(Int64(copied.spooledUploads))),
            .init("directory", copied.host.map { .string($0) } ?? .null),
            .init("spool", copied.spool.map { .string($0) } ?? .null),
            .init("spoolMark", copied.spoolMark.map { .string($0) } ?? .null),
        ]).bytes
    }

    private static func show(_ copied: CopiedStore, _ target: StoreLocation) {
        Output.line("\(copied.from) was copied to \(copied.to), and both have the same rows:")
        for row in copied.rows { Output.line("  \(row.name): \(Figures.grouped(Int64(row.count)))") }
        RestoreCommand.showClaimed(copied.claimed)
        let (left, spooled) = (copied.uploadsLeft, copied.spooledUploads)
        if left > 0 { Output.line("\(left) open upload\(left == 1 ? " was" : "s were") left out") }
        Output.line("\(copied.from) must not run any more: both would execute the same commands")
        Output.line(
            "spooled files\(spooled > 0 ? ", such as those of \(spooled) uploads," : "") were not copied: commands name them in "
                + (copied.spool ?? "the spool of the data directory that worked on \(copied.from)"))
        if target.isServer {
            Output.line(
                copied.host.map { "\(copied.to) belongs to the data directory \($0)" }
                    ?? "the first “sluice up --data DIR --store \(copied.to)” gives it to that data directory")
        }
        if let mark = copied.spoolMark {
            Output.line(
                "before a door works on \(copied.to) with that spool, remove the mark of the old store: rm \(mark)")
        }
    }
}
