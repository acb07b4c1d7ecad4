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

/// The options of a sync for lists of several pages, and for reading only changes.
struct SyncPageOptions: ParsableArguments {
    enum Kind: String, ExpressibleByArgument, CaseIterable {
        case none, link, cursor, page, offset
    }

    enum MissingCursor: String, ExpressibleByArgument, CaseIterable {
        case partial, end
    }

    enum NextOrigin: String, ExpressibleByArgument, CaseIterable {
        case refuse, same
    }

    @Option(
        name: .long,
        help: """
            How pages follow each other: none (one page), link (the Link header, or the URL at --cursor), cursor (the value \
            at --cursor or --last-record), page (a number) or offset (the number of records so far). Without it one page is \
            read, and an answer that looks like one of several is partial.
            """)
    var pages: Kind?

    @Option(
        name: .long,
        help: ArgumentHelp("Pointer to the next cursor or URL in the answer, as in /next.", valueName: "pointer"))
    var cursor: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Instead of --cursor: pointer to the cursor within the last record of a page, as in /id.",
            valueName: "pointer"))
    var lastRecord: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Pointer to a flag in the answer, as in /has_more: false is the end, whatever the cursor says.",
            valueName: "pointer"))
    var more: String?

    @Option(
        name: .long,
        help: """
            A page without the member at --cursor: partial (it may be cut, so nothing is deleted), or end (this server ends \
            its lists so). (default: partial)
            """)
    var missingCursor: MissingCursor?

    @Option(
        name: .long,
        help: """
            A next page at another scheme, host or port: refuse, or same (its path and query at the origin of the URL, for \
            a server behind a proxy). (default: refuse)
            """)
    var nextOrigin: NextOrigin?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Query parameter for the cursor, page or offset. (default: page, offset)", valueName: "name"))
    var pageParameter: String?

    @Option(name: .long, help: ArgumentHelp("Records of a page to ask for.", valueName: "count"))
    var pageSize: Int64?

    @Option(
        name: .long, help: ArgumentHelp("Query parameter for --page-size, as in limit.", valueName: "name"))
    var sizeParameter: String?

    @Option(
        name: .long, help: ArgumentHelp("The first page or offset. (default: 1, with offset 0)", valueName: "number"))
    var start: Int64?

    @Option(name: .long, help: ArgumentHelp("Fail where there are more pages. (default: 10000)", valueName: "count"))
    var maxPages: Int64?

    @Option(
        name: .long,
        help: ArgumentHelp("Pointer to the number of records of all pages in the answer.", valueName: "pointer"))
    var total: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Read only changes since the last sync: by token:POINTER or header:NAME of the answer, by date (the server's), or \
            by version (the greatest --record-version).
            """, valueName: "source"))
    var since: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Query parameter for --since. A token that is a URL needs none.", valueName: "name"))
    var sinceParameter: String?

    @Option(
        name: .long, help: ArgumentHelp("Time to ask for again, with dates. (default: 60s)", valueName: "time"))
    var overlap: DurationArgument?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Time from one full read to the next, with --since; 0: never. (default: 7d)", valueName: "time"))
    var fullEvery: DurationArgument?

    func validate() throws {
        if since == nil, sinceParameter != nil || overlap != nil || fullEvery != nil {
            throw ValidationError("--since-parameter, --overlap and --full-every are for --since: give it too.")
        }
    }

    /// Members of the payload.
    var members: [JSONValue.Member] {
        get throws {
            var page: [JSONValue.Member] = []
            if let pages { page.append(.init("by", .string(pages.rawValue))) }
            if let cursor { page.append(.init("cursor", .string(cursor))) }
            if let lastRecord { page.append(.init("lastRecord", .string(lastRecord))) }
            if let more { page.append(.init("more", .string(more))) }
            if let missingCursor { page.append(.init("missingCursor", .string(missingCursor.rawValue))) }
            if let nextOrigin { page.append(.init("nextOrigin", .string(nextOrigin.rawValue))) }
            if let pageParameter { page.append(.init("parameter", .string(pageParameter))) }
            if let sizeParameter { page.append(.init("sizeParameter", .string(sizeParameter))) }
            if let pageSize { page.append(.init("size", .integer(pageSize))) }
            if let start { page.append(.init("start", .integer(start))) }
            if let maxPages { page.append(.init("maxPages", .integer(maxPages))) }
            if let total { page.append(.init("total", .string(total))) }
            var changes: [JSONValue.Member] = []
            if let sinceParameter { changes.append(.init("parameter", .string(sinceParameter))) }
            if let since { changes.append(.init("from", .string(since))) }
            if let overlap { changes.append(.init("overlap", .integer(overlap.duration.components.seconds))) }
            if let fullEvery { changes.append(.init("fullEvery", .integer(fullEvery.duration.components.seconds))) }
            var members: [JSONValue.Member] = []
            if !page.isEmpty { members.append(.init("pages", .object(page))) }
            if !changes.isEmpty { members.append(.init("since", .object(changes))) }
            return members
        }
    }
}
