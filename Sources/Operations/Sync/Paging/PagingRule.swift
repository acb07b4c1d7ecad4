internal import Commands
internal import Work

/// How the pages of a list follow each other: the value of `pages` in the payload.
///
/// ```
/// {"by": "none",                  one page
///        "link",                  the URL in the Link field with rel=next, or at “cursor” in the body
///        "cursor",                the value at “cursor” goes into “parameter”
///        "page",                  1, 2, 3 … goes into “parameter”; the default is page
///        "offset",                the number of items so far goes into “parameter”; the default is offset
///  "cursor": "/next",             pointer
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

    struct Size: Sendable, Equatable {
        var parameter: String
        var count: Int64
    }

    static let maxPages: Int64 = 10_000
    /// The largest value of “maxPages”.
    static let maxMaxPages: Int64 = 1_000_000
    static let one = PagingRule(by: .none)
    private static let keys =
        "“by”, “cursor”, “parameter”, “sizeParameter”, “size”, “start”, “maxPages” and “total”"

    var by: Kind
    var cursor: JSONPointer?
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
        cursor = try reader.pointer("cursor")
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
            for key in ["parameter", "cursor", "total", "sizeParameter", "maxPages"] where given.contains(key) {
                throw refuse(key, "lists of several pages")
            }
        case .link: if parameter != nil { throw refuse("parameter", "cursor, page and offset") }
        case .cursor:
            guard cursor != nil, parameter != nil else {
                throw PayloadError(
                    .data, "“pages” by cursor needs “cursor”, a pointer, and “parameter”, which gets its value")
            }
        case .page, .offset: if cursor != nil { throw refuse("cursor", "link and cursor") }
        }
        if given.contains("start"), !by.isByPosition { throw refuse("start", "page and offset") }
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
        if let cursor { members.append(.init("cursor", .string(cursor.text))) }
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
