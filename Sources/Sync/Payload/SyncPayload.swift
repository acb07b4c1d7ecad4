internal import Commands
internal import HTTPClient
internal import Operations
internal import Transfers

/// The payload of a `sync`, checked.
///
/// ```
/// {"url": "https://api.example.com/v1/users",     http, https or file; the answer has the list
///  "collection": "users",                         1 to 64 of a to z, 0 to 9 and the hyphen
///  "records": "/data",                            pointer to the array; "" by default: the whole body. “items” is the same
///  "key": "/id",                                  pointer within a record, or a list of them
///  "mode": "upsert",                              or replace: delete rows that a full read does not list
///  "merge": "remote",                             local or newest: for rows that were changed here
///  "version": "/updated_at",                      pointer to a number or RFC 3339 date
///  "deleted": "/deleted",                         pointer; true marks a record as deleted
///  "deletedItems": "/removed",                    pointer to a list of keys of deleted records
///  "pages": {…}, "since": {…},                    ``PagingRule``, ``SinceRule``
///  "conditional": true,                           If-None-Match and If-Modified-Since, for lists of one page
///  "columns": {"email": "/email"},                columns of the collection, for queries
///  "format": "json",                              or ndjson: a record a line
///  "headers": {"X-Tag": "a"},
///  "allowEmpty": false,                           whether a replacing sync may delete every row
///  "maxDelete": "50%",                            ``DeleteLimit``
///  "maxRecord": 1048576,                          bytes of a record; a larger one is rejected
///  "maxRejects": 1000,                            records that may be left out
///  "maxBytes": 1073741824}                        bytes of all pages
/// ```
struct SyncPayload: Sendable, Equatable {
    enum Mode: String, Sendable, CaseIterable {
        case upsert, replace
    }

    static let maxRecord: Int64 = 1 << 20
    static let maxRejects: Int64 = 1000
    static let maxBytes: Int64 = 1 << 30

    var url: ResourceURL
    var collection: String
    var items: JSONPointer
    var key: [JSONPointer]
    var mode: Mode
    var merge: MergeRule
    var version: JSONPointer?
    var deleted: JSONPointer?
    var deletedItems: JSONPointer?
    var pages: PagingRule
    var since: SinceRule?
    var isConditional: Bool
    var columns: [CollectionColumn]
    var format: ScanPlan.Format
    var headers: [HTTPField]
    var allowEmpty: Bool
    var maxDelete: DeleteLimit
    var maxRecord: Int64
    var maxRejects: Int64
    var maxBytes: Int64
    /// The pointers of ``PagingSigns``, which the other values give.
    private(set) var signs: [JSONPointer] = []

    /// A sync replaces rows by key, so an execution after an ambiguous end does no harm.
    var isIdempotent: Bool { true }

    private static let keys =
        "“url”, “collection”, “records”, “key”, “mode”, “merge”, “version”, “deleted”, “deletedItems”, “pages”, “since”, "
        + "“conditional”, “columns”, “format”, “headers”, “allowEmpty”, “maxDelete”, “maxRecord”, “maxRejects” and "
        + "“maxBytes”"

    /// Reads and checks the payload.
    init(_ value: JSONValue) throws(PayloadError) {
        var reader = try PayloadReader(value, of: "a sync", keys: Self.keys)
        url = try ResourceURL(try reader.text("url", isRequired: true) ?? "")
        collection = try Self.collection(try reader.text("collection", isRequired: true) ?? "")
        if let records = try reader.pointer("records") {
            items = records
        } else {
            items = try reader.pointer("items") ?? .root
        }
        key = try Self.key(reader.take("key"))
        mode = try reader.choice("mode", default: Mode.upsert)
        merge = try reader.choice("merge", default: MergeRule.remote)
        version = try reader.pointer("version")
        deleted = try reader.pointer("deleted")
        deletedItems = try reader.pointer("deletedItems")
        format = try reader.choice("format", default: ScanPlan.Format.json)
        pages = try reader.take("pages").map { value throws(PayloadError) in try PagingRule(value) } ?? .one
        since = try reader.take("since").map { value throws(PayloadError) in try SinceRule(value) }
        isConditional = try reader.flag("conditional") ?? true
        columns = try CollectionColumn.columns(&reader)
        headers = try Self.checked(try reader.headers("headers"))
        allowEmpty = try reader.flag("allowEmpty") ?? false
        maxDelete =
            try reader.take("maxDelete").map { value throws(PayloadError) in try DeleteLimit(value) } ?? .standard
        maxRecord = try reader.integer("maxRecord", in: 1024...64 << 20) ?? Self.maxRecord
        maxRejects = try reader.integer("maxRejects", in: 0...1_000_000_000) ?? Self.maxRejects
        maxBytes = try reader.integer("maxBytes", in: 1...1 << 50) ?? Self.maxBytes
        try reader.finish()
        try check()
        signs = findSigns()
    }

    // MARK: Single values

    private static func collection(_ name: String) throws(PayloadError) -> String {
        guard CollectionDirectory.isName(name) else {
            throw PayloadError(
                .data,
                "“collection” is “\(name.prefix(80))”; a name has 1 to 64 characters: a to z, 0 to 9 and the hyphen")
        }
        return name
    }

    private static func key(_ value: JSONValue?) throws(PayloadError) -> [JSONPointer] {
        var pointers: [JSONPointer] = []
        switch value {
        case nil: pointers = [try PayloadReader.pointer("/id", "key")]
        case .string(let text): pointers = [try PayloadReader.pointer(text, "key")]
        case .array(let elements):
            guard (1...RecordKey.maxParts).contains(elements.count) else {
                throw PayloadError(.data, "“key” is a pointer, or a list of 1 to \(RecordKey.maxParts) pointers")
            }
            for element in elements {
                guard let text = element.string else {
                    throw PayloadError(.data, "“key” is a list of pointers, which are strings, not \(element.kind)")
                }
                pointers.append(try PayloadReader.pointer(text, "key"))
            }
        case let value?: throw PayloadError(.data, "“key” is a pointer, or a list of pointers, not \(value.kind)")
        }
        if let (outer, inner) = ScanPlan.overlap(lists: pointers, values: []) {
            throw PayloadError(.data, "“key” names \(outer) and \(inner), of which one contains the other")
        }
        return pointers
    }

    private static func checked(_ headers: [HTTPField]) throws(PayloadError) -> [HTTPField] {
        guard headers.count <= 64 else { throw PayloadError(.data, "“headers” has more than 64 headers") }
        for header in headers {
            guard header.value.utf8.count <= 8192 else {
                throw PayloadError(.data, "the header “\(header.name)” has more than 8192 bytes")
            }
            guard !ownHeaders.contains(header.name.lowercased()) else {
                throw PayloadError(.data, "the header “\(header.name)” is set by the sync itself and cannot be set")
            }
        }
        return headers
    }

    /// Headers that a sync sets, or that would make its answers incomplete.
    private static let ownHeaders: Set<String> = [
        "range", "if-range", "accept-encoding", "if-none-match", "if-modified-since", "cache-control",
    ]

    // MARK: Values together

    private func check() throws(PayloadError) {
        if merge == .newest, version == nil {
            throw PayloadError(.data, "“merge” newest needs “version”, a pointer to a number or an RFC 3339 date")
        }
        if since?.source == .version, version == nil {
            throw PayloadError(.data, "“since” from version needs “version”, a pointer to a number or an RFC 3339 date")
        }
        if format == .ndjson { try checkLines() }
        if let (outer, inner) = ScanPlan.overlap(lists: lists, values: envelopePointers) {
            throw PayloadError(
                .data,
                "\(inner) lies within \(outer), or is the same; “items”, “deletedItems”, “cursor”, “total”, “more” and "
                    + "the token must lie beside each other in the body")
        }
        if url.scheme == .file { try checkFile() }
    }

    private func checkLines() throws(PayloadError) {
        guard items.isRoot else {
            throw PayloadError(.data, "“items” is not valid with “format” ndjson: a line is a record")
        }
        guard deletedItems == nil, envelopePointers.isEmpty else {
            throw PayloadError(
                .data,
                "“format” ndjson has nothing beside the records, so a pointer to a cursor, total, token or list is not "
                    + "valid")
        }
    }

    private func checkFile() throws(PayloadError) {
        guard headers.isEmpty else { throw PayloadError(.data, "“headers” are not valid for a file: URL") }
        guard pages.by == .none else { throw PayloadError(.data, "“pages” is not valid for a file: URL") }
        guard since == nil else { throw PayloadError(.data, "“since” is not valid for a file: URL") }
    }

    private var lists: [JSONPointer] { [items] + [deletedItems].compactMap(\.self) }
}

/// Which side a row that was changed here takes over: the value of `merge` in the payload.
enum MergeRule: String, Sendable, CaseIterable {
    /// The remote record replaces it.
    case remote
    /// It stays, and the remote record is stored beside it.
    case local
    /// The later version stays.
    case newest
}

extension SyncPayload {
    /// The payload as it is stored; ``init(_:)`` reads it.
    var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("url", .string(url.text)), .init("collection", .string(collection)),
            .init("items", .string(items.text)), .init("key", keyJSON), .init("mode", .string(mode.rawValue)),
            .init("merge", .string(merge.rawValue)),
        ]
        for (name, pointer) in [("version", version), ("deleted", deleted), ("deletedItems", deletedItems)] {
            if let pointer { members.append(.init(name, .string(pointer.text))) }
        }
        if pages != .one { members.append(.init("pages", pages.json)) }
        if let since { members.append(.init("since", since.json)) }
        if !isConditional { members.append(.init("conditional", false)) }
        if !columns.isEmpty {
            members.append(.init("columns", .object(columns.map { .init($0.name, .string($0.pointer.text)) })))
        }
        if format != .json { members.append(.init("format", .string(format.rawValue))) }
        if !headers.isEmpty { members.append(.init("headers", headersJSON)) }
        if allowEmpty { members.append(.init("allowEmpty", true)) }
        if maxDelete != .standard { members.append(.init("maxDelete", maxDelete.json)) }
        if maxRecord != Self.maxRecord { members.append(.init("maxRecord", .integer(maxRecord))) }
        if maxRejects != Self.maxRejects { members.append(.init("maxRejects", .integer(maxRejects))) }
        if maxBytes != Self.maxBytes { members.append(.init("maxBytes", .integer(maxBytes))) }
        return .object(members)
    }

    /// The part of the payload on which the answers of the server, and their meaning, depend. A stored token
    /// or validator is used only by a sync of the same identity.
    var identity: JSONValue {
        var members: [JSONValue.Member] = [
            .init("url", .string(url.text)), .init("items", .string(items.text)), .init("key", keyJSON),
            .init("mode", .string(mode.rawValue)), .init("format", .string(format.rawValue)),
            .init("pages", pages.identity), .init("since", since?.identity ?? nil), .init("headers", headersJSON),
            .init("maxRecord", .integer(maxRecord)),
        ]
        for (name, pointer) in [("version", version), ("deleted", deleted), ("deletedItems", deletedItems)] {
            members.append(.init(name, pointer.map { .string($0.text) } ?? nil))
        }
        return .object(members)
    }

    /// A short form of ``identity``, which also hides the values of its headers.
    var fingerprint: String { String(StableHash.of(identity.bytes), radix: 16) }

    private var keyJSON: JSONValue {
        key.count == 1 ? .string(key[0].text) : .array(key.map { .string($0.text) })
    }

    private var headersJSON: JSONValue { .object(headers.map { .init($0.name, .string($0.value)) }) }
}

extension SyncPayload {
    /// The values beside the lists that the pages of this sync are asked for.
    var envelopePointers: [JSONPointer] { [pages.cursor, pages.total, tokenPointer, pages.more].compactMap(\.self) }

    private var tokenPointer: JSONPointer? {
        if case .token(let pointer)? = since?.source { pointer } else { nil }
    }

    var scanPlan: ScanPlan {
        ScanPlan(
            format: format, items: items, deletedItems: deletedItems, values: envelopePointers, signs: signs,
            fields: layout.fields, maxRecord: Int(maxRecord))
    }

    var layout: RecordLayout { RecordLayout(key: key, version: version, deleted: deleted, cursor: pages.lastRecord) }

    /// The pointers of ``PagingSigns``. Numbered pages end by their records, so nothing is looked for.
    func findSigns() -> [JSONPointer] {
        guard format == .json, !pages.isStated || pages.by == .link || pages.by == .cursor else { return [] }
        return PagingSigns.pointers(
            around: items, but: envelopePointers + [items] + [deletedItems].compactMap(\.self))
    }

    /// The values beside the lists of a page.
    struct PageValues: Sendable {
        var cursor = EnvelopeValue.missing
        var total = EnvelopeValue.missing
        var token = EnvelopeValue.missing
        var more = EnvelopeValue.missing
        var signs = PagingSigns()
    }

    /// - Parameter items: of the page.
    func values(of envelope: Envelope, items: Int) -> PageValues {
        var rest = envelope.values[...]
        func next(_ pointer: JSONPointer?) -> EnvelopeValue { pointer == nil ? .missing : rest.popFirst() ?? .missing }
        var values = PageValues()
        values.cursor = next(pages.cursor)
        values.total = next(pages.total)
        values.token = next(tokenPointer)
        values.more = next(pages.more)
        values.signs = PagingSigns(signs, rest, items: items)
        return values
    }
}
