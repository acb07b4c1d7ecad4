internal import ArgumentParser
internal import BuiltIn
internal import Commands
internal import Console
internal import Queue

struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Bring a remote list into a local collection. Prints its UUID, or with --wait what has changed.",
        discussion: """
            The list is JSON, on one page or many. Its records become the rows of a collection, by their key, in one \
            transaction: a reader sees the collection before the sync or after it, never between. A sync that fails, or \
            whose worker dies, changes nothing. A record keeps every byte that its server sent.

            --records names the array in the answer, --key the key in a record; both are JSON Pointers (/data/items, /id). \
            --mode replace deletes the rows that a whole list does not have any more, but not those of an empty list \
            (--allow-empty), nor more than half of them (--max-delete). A list of several pages may change while it is \
            read, so a row is deleted when the second whole read in a row misses it. A list that may have been cut is \
            “partial”, and deletes nothing. Rows that “sluice collection put” has changed stay or not as --merge says.

            Look at it with “sluice collection query NAME”, or with any program that reads SQLite.

            EXAMPLES
              sluice sync https://api.example.com/quotes --collection quotes --records /results --wait
              sluice sync https://api.example.com/users --collection users --records /data --pages cursor \\
                --cursor /next --page-parameter after --column email=/email --mode replace
              sluice sync 'https://api.example.com/users?per_page=100' --collection users --pages link
              sluice sync https://api.example.com/charges --collection charges --records /data --pages cursor \\
                --last-record /id --page-parameter starting_after --more /has_more
              sluice sync https://api.example.com/orders --collection orders --since date \\
                --since-parameter updated_since
              sluice sync https://api.example.com/export.ndjson --collection export --format ndjson --key /sku
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var fields: SubmitFields
    @OptionGroup var list: SyncListOptions
    @OptionGroup var pages: SyncPageOptions

    @Argument(help: ArgumentHelp("The URL of the list: http, https or file.", valueName: "url"))
    var url: String

    @Option(
        name: .long,
        help: ArgumentHelp("The collection: 1 to 64 of a to z, 0 to 9 and the hyphen.", valueName: "name"))
    var collection: String

    @Flag(name: .long, help: "Wait until it has ended; exit 1 where it has not succeeded.")
    var wait = false

    func validate() throws {
        try fields.requireKeyOfPeriod()
        try list.check()
    }

    func run() async throws {
        SignalHandling.exits()
        let registry = BuiltInOperations.registry()
        let members: [JSONValue.Member] =
            [.init("url", .string(url)), .init("collection", .string(collection))] + (try list.members)
            + (try pages.members)
        let draft = try CommandDraft(
            type: CommandType.sync, payload: .object(members), options: fields.options, registry: registry)
        let client = try data.client(registry)
        let ids = try await SubmissionPrinter(client: client, asJSON: print.json, isQuiet: wait)
            .submit([draft], labels: [url])
        if wait, let id = ids.first {
            try await CompletionWaiter(client: client, ids: ids).run()
            show(try await client.wait(for: id))
        }
        await client.close()
    }

    private func show(_ outcome: CommandOutcome) {
        guard !print.json else { return ResultPrinter(asJSON: true).show(outcome) }
        let summary = SyncSummary(outcome.result.flatMap { try? JSONValue(parsing: $0) } ?? .null, collection)
        Output.line(summary.line)
        Output.flush()
        for remark in summary.remarks { Diagnostics.say(remark) }
    }
}

/// The result of a sync in words.
struct SyncSummary {
    private let result: JSONValue
    private let collection: String

    init(_ result: JSONValue, _ collection: String) {
        self.result = result
        self.collection = collection
    }

    private func number(_ name: String) -> Int64 { result[name]?.integer ?? 0 }

    /// `quotes is at revision 3: 1,000 records read, 2 inserted, 1 updated, 997 unchanged, 0 deleted`
    var line: String {
        let start = "\(collection) is at revision \(number("rev")): "
        guard result["notModified"]?.bool != true else { return start + "the list has not changed" }
        let counts = ["inserted", "updated", "unchanged", "deleted"].map { "\(Figures.grouped(number($0))) \($0)" }
        let records = number("records")
        let partial = result["partial"] == nil ? "" : " (partial)"
        return start + "\(Figures.grouped(records)) \(records == 1 ? "record" : "records") read\(partial), "
            + counts.joined(separator: ", ")
    }

    /// Facts beside the counts.
    var remarks: [String] {
        var remarks: [String] = []
        let rejected = number("rejected")
        if rejected > 0 {
            let first = result["rejects"]?.elements?.first
            let example = first.map {
                "; the first, record \($0["index"]?.integer ?? 0) of page \($0["page"]?.integer ?? 0): "
                    + ($0["reason"]?.string ?? "")
            }
            remarks.append(
                "\(Figures.grouped(rejected)) \(rejected == 1 ? "record was" : "records were") left out\(example ?? "")"
            )
        }
        if let partial = result["partial"]?.string {
            remarks.append("this may not be the whole list, so nothing was deleted as missing: \(partial)")
        } else if let retained = result["retained"]?.string {
            remarks.append(retained)
        }
        return remarks
    }
}
