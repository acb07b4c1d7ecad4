internal import ArgumentParser
internal import Commands

/// The options of a sync that describe the list and its records.
struct SyncListOptions: ParsableArguments {
    enum Mode: String, ExpressibleByArgument, CaseIterable {
        case upsert, replace
    }

    enum Merge: String, ExpressibleByArgument, CaseIterable {
        case remote, local, newest
    }

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case json, ndjson
    }

    @Option(
        name: [.long, .customLong("items")],
        help: ArgumentHelp(
            "Pointer to the array of records in the answer, as in /data. (default: the whole answer)",
            valueName: "pointer"))
    var records: String?

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp(
            "Pointer to the key in a record; several of them make a key together. (default: /id)", valueName: "pointer")
    )
    var key: [String] = []

    @Option(name: .long, help: "upsert: insert and update; replace: also delete the rows that the list does not have.")
    var mode = Mode.upsert

    @Option(
        name: .long,
        help: "For rows that were changed here: the remote record counts, the local one, or the newest of both.")
    var merge = Merge.remote

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Pointer to a number or RFC 3339 date in a record that grows with each change.", valueName: "pointer"))
    var recordVersion: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Pointer to a flag in a record: true says that it is deleted.", valueName: "pointer"))
    var deleted: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Pointer to a list of keys of deleted records in the answer.", valueName: "pointer"))
    var deletedItems: String?

    @Option(name: .long, help: "json: one text with the array in it; ndjson: a record a line.")
    var format = Format.json

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp(
            "A column for queries, as in email=/email. May be given several times.", valueName: "name=pointer"))
    var column: [String] = []

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp("A header, as in 'X-Tag: nightly'. May be given several times.", valueName: "header"))
    var header: [String] = []

    @Flag(name: .long, help: "With --mode replace: an empty list deletes all rows.")
    var allowEmpty = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "With --mode replace: refuse to delete more, a number of rows or a share of them. (default: 50%)",
            valueName: "limit"))
    var maxDelete: String?

    @Option(name: .long, help: ArgumentHelp("Leave longer records out, as in 4MiB. (default: 1MiB)", valueName: "size"))
    var maxRecord: SizeArgument?

    @Option(
        name: .long,
        help: ArgumentHelp("Fail where more records must be left out. (default: 1000)", valueName: "count"))
    var maxRejects: Int64?

    @Option(
        name: .long,
        help: ArgumentHelp("Fail where all pages together are longer, as in 4GiB. (default: 1GiB)", valueName: "size"))
    var maxBytes: SizeArgument?

    @Flag(name: .long, help: "Read the list also where its server would say that it has not changed.")
    var unconditional = false

    func check() throws {
        _ = try HeaderArgument.members(header)
        _ = try columns
    }

    private var columns: [JSONValue.Member] {
        get throws {
            try column.map { text in
                guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")), equals > text.startIndex else {
                    throw ValidationError("--column must be a name, = and a pointer, as in email=/email.")
                }
                return .init(String(text[..<equals]), .string(String(Substring(text.utf8[equals...].dropFirst()))))
            }
        }
    }

    /// Members of the payload. Values that are the default are left out.
    var members: [JSONValue.Member] {
        get throws {
            var members: [JSONValue.Member] = []
            func add(_ name: String, _ value: JSONValue?) { if let value { members.append(.init(name, value)) } }
            add("items", records.map { .string($0) })
            if key.count == 1 { add("key", .string(key[0])) }
            if key.count > 1 { add("key", .array(key.map { .string($0) })) }
            if mode != .upsert { add("mode", .string(mode.rawValue)) }
            if merge != .remote { add("merge", .string(merge.rawValue)) }
            add("version", recordVersion.map { .string($0) })
            add("deleted", deleted.map { .string($0) })
            add("deletedItems", deletedItems.map { .string($0) })
            if format != .json { add("format", .string(format.rawValue)) }
            if !column.isEmpty { add("columns", .object(try columns)) }
            let headers = try HeaderArgument.members(header)
            if !headers.isEmpty { add("headers", .object(headers)) }
            if allowEmpty { add("allowEmpty", true) }
            add("maxDelete", maxDelete.map { text in Int64(text).map { .integer($0) } ?? .string(text) })
            add("maxRecord", maxRecord.map { .integer($0.bytes) })
            add("maxRejects", maxRejects.map { .integer($0) })
            add("maxBytes", maxBytes.map { .integer($0.bytes) })
            if unconditional { add("conditional", false) }
            return members
        }
    }
}
