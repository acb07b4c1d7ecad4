internal import ArgumentParser
internal import Commands
internal import Console
internal import Sync

struct CollectionQueryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query", abstract: "Print records of a collection.",
        discussion: """
            All records are of one revision, in the order of their keys. --json prints each record as it came, one a line; \
            only line breaks between its values become spaces. A terminal gets a table of the columns that sync --column \
            has named, or of the records themselves.

            With --sql any SELECT may be run. The tables are record(key, body, rev, …), change(rev, key, op), \
            reject(page, n, key, reason, body) and state(name, value).

            EXAMPLES
              sluice collection query users --key 17
              sluice collection query users --column email=ann@example.com --json
              sluice collection query users --since 41 --json
              sluice collection query users --sql "SELECT body ->> '$.name' AS name FROM record ORDER BY name"
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The collection.", valueName: "name"))
    var name: String

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp("Only the record with this key. May be given several times.", valueName: "key"))
    var key: [String] = []

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp("Only records with this value in a column.", valueName: "name=value"))
    var column: [String] = []

    @Option(name: .long, help: ArgumentHelp("Only records that changed after this revision.", valueName: "rev"))
    var since: Int64?

    @Option(name: .long, help: ArgumentHelp("The maximum number of records; 0 for all.", valueName: "count"))
    var limit = 1000

    @Option(name: .long, help: ArgumentHelp("A SELECT to run instead.", valueName: "statement"))
    var sql: String?

    func validate() throws {
        if sql != nil, !key.isEmpty || !column.isEmpty || since != nil {
            throw ValidationError("--sql is the whole query: leave --key, --column and --since out.")
        }
        if limit < 0 { throw ValidationError("--limit must be 0 or more.") }
        _ = try columns
    }

    private var columns: [(name: String, value: String)] {
        get throws {
            try column.map { text in
                guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")), equals > text.startIndex else {
                    throw ValidationError("--column must be a name, = and a value, as in email=ann@example.com.")
                }
                return (String(text[..<equals]), String(Substring(text.utf8[equals...].dropFirst())))
            }
        }
    }

    func run() async throws {
        SignalHandling.exits()
        try CollectionCommand.run {
            let reader = try CollectionReader(CollectionDirectory(data: data.path), name)
            if let sql { try select(sql, reader) } else { try query(reader) }
        }
    }

    private func query(_ reader: CollectionReader) throws {
        var query = CollectionQuery()
        (query.keys, query.columns, query.since) = (key, try columns, since)
        query.limit = limit == 0 || limit == .max ? -1 : limit + 1
        var count = 0
        var table = RecordTable(
            ["KEY"] + (reader.columns.isEmpty ? ["RECORD"] : reader.columns.map { $0.uppercased() }))
        try reader.query(query) { record in
            count += 1
            guard limit == 0 || count <= limit else { return }
            guard !print.json else { return Output.line(Self.line(record.body)) }
            table.add(
                [record.key] + (reader.columns.isEmpty ? [record.body] : record.columns.map(RecordTable.text)))
        }
        table.finish()
        Output.flush()
        if limit > 0, count > limit { Diagnostics.say("there are more than \(limit) records; see --limit") }
        if count == 0, !print.json { Diagnostics.say("no record matches") }
        guard let since else { return }
        switch try reader.deletions(since: since) {
        case nil: Diagnostics.say("the changes since revision \(since) are not kept any more; read all records")
        case 0?: break
        case let deleted?: Diagnostics.say("\(deleted) \(deleted == 1 ? "record was" : "records were") deleted since")
        }
    }

    /// The record on one line. Within a JSON text only white space between values has raw line breaks.
    private static func line(_ body: String) -> [UInt8] { body.utf8.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 } }

    private func select(_ sql: String, _ reader: CollectionReader) throws {
        var table = RecordTable([])
        var names: [String] = []
        var count = 0
        try reader.select(sql, limit: limit == 0 || limit == .max ? -1 : limit + 1) { header in
            names = header
            table = RecordTable(header.map { $0.uppercased() })
        } _: { values in
            count += 1
            guard limit == 0 || count <= limit else { return }
            if print.json {
                Output.line(JSONValue.object(zip(names, values).map { .init($0, $1) }).bytes)
            } else {
                table.add(values.map(RecordTable.text))
            }
        }
        table.finish()
        Output.flush()
        if limit > 0, count > limit { Diagnostics.say("there are more than \(limit) rows; see --limit") }
    }
}

/// Rows in aligned columns, which fit the width of a terminal. Only the first rows decide the widths, so that
/// any number of rows is printed in the memory of those.
struct RecordTable {
    private static let measuredRows = 200
    private static let minColumn = 6

    private let header: [String]
    /// The columns of the terminal; nil where nothing is cut.
    private let width: Int?
    private var waiting: [[String]] = []
    private var widths: [Int]?

    init(_ header: [String], width: Int? = Output.isTerminal ? Terminal.size.columns : nil) {
        self.header = header
        self.width = width
    }

    /// A value in a cell.
    static func text(_ value: JSONValue) -> String { value == .null ? "" : value.string ?? value.text }

    mutating func add(_ row: [String]) {
        guard let widths else {
            waiting.append(row)
            if waiting.count == Self.measuredRows { finish() }
            return
        }
        Output.line(Self.line(row, widths))
    }

    /// Prints the rows that wait.
    mutating func finish() {
        guard widths == nil, !waiting.isEmpty else { return }
        let widths = Self.widths(
            header.indices.map { column in
                ([header] + waiting).map { TerminalText.width($0[column]) }.max() ?? 0
            }, within: width)
        Output.line(Self.line(header, widths))
        for row in waiting { Output.line(Self.line(row, widths)) }
        self.widths = widths
        waiting = []
    }

    /// Takes cells from the widest columns until the line fits.
    static func widths(_ wanted: [Int], within limit: Int?) -> [Int] {
        guard let limit else { return wanted }
        var widths = wanted
        var excess = widths.reduce(0, +) + 2 * max(widths.count - 1, 0) - limit
        while excess > 0, let widest = widths.indices.max(by: { widths[$0] < widths[$1] }), widths[widest] > minColumn {
            let second = widths.indices.filter { $0 != widest }.map { widths[$0] }.max() ?? 0
            let cut = min(excess, max(widths[widest] - max(second, minColumn), 1))
            widths[widest] -= cut
            excess -= cut
        }
        return widths
    }

    private static func line(_ row: [String], _ widths: [Int]) -> String {
        var line = ""
        for (cell, width) in zip(row, widths) {
            if !line.isEmpty { line += "  " }
            line += TerminalText.fit(cell, width: width)
        }
        while line.last == " " { line.removeLast() }
        return line
    }
}
