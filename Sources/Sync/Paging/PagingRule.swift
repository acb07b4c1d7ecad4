internal import Commands
internal import Operations
internal import Transfers

/// How the pages of a list follow each other: the value of `pages` in the payload.
///
/// ```
/// {"by": "none",                  one page
///        "link",                  the URL in the Link field with rel=next, or at “cursor” in the body
///        "cursor",                the value at “cursor” goes into “parameter”
///        "page",                  1, 2, 3 … goes into “parameter”; the default is page
///        "offset",                the number of items so far goes into “parameter”; the default is offset
///  "cursor": "/next",             pointer
///  "lastRecord": "/id",           instead of “cursor”: pointer to the cursor within the last record of a page
///  "more": "/has_more",           pointer to a flag; false is the end, whatever the cursor says
///  "missingCursor": "partial",    a page without the member “cursor” may be cut; or end: it is the last page
///  "nextOrigin": "refuse",        a next page at another origin; or same: its path and query at the origin of “url”
///  "parameter": "page",
///  "sizeParameter": "limit", "size": 100,      items of a page to ask for
///  "start": 1,                    of the first page; 0 by default with offset
///  "maxPages": 10000,
///  "total": "/total"}             pointer to the number of items of all pages
/// ```
struct PagingRule: Sendable, Equatable {
    enum Kind: String, Sendable, CaseIterable {
        case none, link, cursor, page, offset

        /// Whether a page is a range of positions, so that a list that moves shows an item twice or never.
        var isByPosition: Bool { self == .page || self == .offset }
    }

    /// The meaning of a page on which the member at ``cursor`` is missing.
    enum MissingCursor: String, Sendable, CaseIterable {
        case partial, end
    }

    /// The treatment of a next page at another origin.
    enum NextOrigin: String, Sendable, CaseIterable {
        case refuse, same
    }

    struct Size: Sendable, Equatable {
        var parameter: String
        var count: Int64
    }

    static let maxPages: Int64 = 10_000
    /// The largest value of “maxPages”.
    static let maxMaxPages: Int64 = 1_000_000
    static let one = PagingRule(by: .none)
    private static let keys =
        "“by”, “cursor”, “lastRecord”, “more”, “missingCursor”, “nextOrigin”, “parameter”, “sizeParameter”, “size”, "
        + "“start”, “maxPages” and “total”"

    var by: Kind
    /// The payload says so. Without a word about pages, an answer that looks like one of several pages is partial.
    var isStated = false
    var cursor: JSONPointer?
    var lastRecord: JSONPointer?
    var more: JSONPointer?
    var missingCursor = MissingCursor.partial
    var nextOrigin = NextOrigin.refuse
    var parameter: String?
    var size: Size?
    var start: Int64 = 0
    var maxPages = Self.maxPages
    var total: JSONPointer?

    private init(by: Kind) { self.by = by }

    init(_ value: JSONValue) throws(PayloadError) {
        let given = Set((value.members ?? []).map(\.name))
        var reader = try PayloadReader.object(value, "pages", keys: Self.keys)
        by = try reader.choice("by", default: Kind.none)
        isStated = true
        cursor = try reader.pointer("cursor")
        lastRecord = try reader.pointer("lastRecord")
        more = try reader.pointer("more")
        missingCursor = try reader.choice("missingCursor", default: MissingCursor.partial)
        nextOrigin = try reader.choice("nextOrigin", default: NextOrigin.refuse)
        parameter = try reader.name("parameter")
        maxPages = try reader.integer("maxPages", in: 1...Self.maxMaxPages) ?? Self.maxPages
        total = try reader.pointer("total")
        start = try reader.integer("start", in: 0...1_000_000_000_000) ?? (by == .page ? 1 : 0)
        switch (try reader.name("sizeParameter"), try reader.integer("size", in: 1...1_000_000)) {
        case (nil, nil): size = nil
        case (let parameter?, let count?): size = Size(parameter: parameter, count: count)
        case (nil, _), (_, nil): throw PayloadError(.data, "“sizeParameter” and “size” in “pages” belong together")
        }
        try reader.finish()
        if by.isByPosition, parameter == nil { parameter = by.rawValue }
        try check(given)
    }

    private func check(_ given: Set<String>) throws(PayloadError) {
        func refuse(_ key: String, _ valid: String) -> PayloadError {
            PayloadError(.data, "“\(key)” in “pages” is not valid with “by” \(by.rawValue); it is for \(valid)")
        }
        switch by {
        case .none:
            for key in given.sorted() where !["by", "start", "size"].contains(key) {
                throw refuse(key, "lists of several pages")
            }
        case .link: if parameter != nil { throw refuse("parameter", "cursor, page and offset") }
        case .cursor:
            guard (cursor == nil) != (lastRecord == nil), parameter != nil else {
                throw PayloadError(
                    .data,
                    "“pages” by cursor needs “cursor” or “lastRecord”, a pointer, and “parameter”, which gets its value"
                )
            }
        case .page, .offset: if cursor != nil { throw refuse("cursor", "link and cursor") }
        }
        if given.contains("start"), !by.isByPosition { throw refuse("start", "page and offset") }
        if lastRecord != nil, by != .cursor { throw refuse("lastRecord", "cursor") }
        if missingCursor == .end, cursor == nil { throw refuse("missingCursor", "pages with a “cursor”") }
        if nextOrigin == .same, by != .link { throw refuse("nextOrigin", "link") }
        if let size, let parameter, size.parameter == parameter {
            throw PayloadError(.data, "“parameter” and “sizeParameter” in “pages” must differ")
        }
    }

    /// Without the values that do not change the answers of the server.
    var identity: JSONValue {
        var rule = self
        rule.maxPages = Self.maxPages
        return rule.json
    }

    var json: JSONValue {
        var members: [JSONValue.Member] = [.init("by", .string(by.rawValue))]
        for (name, pointer) in [("cursor", cursor), ("lastRecord", lastRecord), ("more", more)] {
            if let pointer { members.append(.init(name, .string(pointer.text))) }
        }
        if missingCursor != .partial { members.append(.init("missingCursor", .string(missingCursor.rawValue))) }
        if nextOrigin != .refuse { members.append(.init("nextOrigin", .string(nextOrigin.rawValue))) }
        if let parameter { members.append(.init("parameter", .string(parameter))) }
        if let size {
            members.append(.init("sizeParameter", .string(size.parameter)))
            members.append(.init("size", .integer(size.count)))
        }
        if by.isByPosition { members.append(.init("start", .integer(start))) }
        if maxPages != Self.maxPages { members.append(.init("maxPages", .integer(maxPages))) }
        if let total { members.append(.init("total", .string(total.text))) }
        return .object(members)
    }
}
