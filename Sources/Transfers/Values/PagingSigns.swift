package import Commands
internal import HTTPClient

/// Members beside the records, and fields of the answer, that look like those of a list of several pages. Pure.
///
/// They are never followed: a name has another meaning on another server. They only keep an answer from passing
/// for the whole list, and the remark names the option that reads the rest.
package struct PagingSigns: Sendable, Equatable {
    /// A member that says that more records exist: `next`, `has_more`, `total_count` above the number of items.
    package var rest: Rest?
    /// The first flag such as `has_more`, whatever its value.
    package var flag: JSONPointer?

    package enum Rest: Sendable, Equatable {
        /// - Parameter isURL: the value is a URL, not a cursor.
        case next(JSONPointer, isURL: Bool)
        case flag(JSONPointer)
        case count(JSONPointer, Int)
        case pages(JSONPointer, Int)
        /// A `Link` with `rel=next`.
        case link
        /// A field with the number of records or pages: `X-Total-Count`.
        case field(String, Int)
        /// A field with the next page: `X-Next-Page`.
        case nextField(String)
    }

    private enum Kind: CaseIterable {
        case next, flag, count, pages

        var names: [String] {
            switch self {
            case .next:
                [
                    "next", "next_page", "next_url", "next_page_url", "next_link", "next_href", "next_cursor",
                    "next_page_token", "next_token", "next_page_cursor", "next_page_id", "next_offset", "next_marker",
                    "continuation_token", "last_evaluated_key", "@odata.nextLink", "odata.nextLink",
                ]
            case .flag:
                ["has_more", "has_next", "has_next_page", "more", "has_more_items", "more_results", "is_truncated"]
            case .count:
                [
                    "count", "total", "total_count", "total_results", "total_items", "total_records", "total_elements",
                    "total_size",
                ]
            case .pages: ["total_pages", "page_count", "num_pages", "last_page", "pages"]
            }
        }
    }

    /// Objects that servers put such members into.
    static let containers = [
        "meta", "metadata", "pagination", "paging", "page_info", "pageInfo", "page", "links", "_links",
        "response_metadata",
        "info",
    ]

    /// The members, each as the names that lead to it.
    private static let members: [[String]] = {
        let names = Kind.allCases.flatMap { $0.names.flatMap(spellings) }
        // Within an object no known server writes NextPage.
        let inner = names.filter { !($0.first?.isUppercase ?? false) }
        return names.map { [$0] } + containers.flatMap { container in inner.map { [container, $0] } }
    }()

    /// `next_page` is also `nextPage` and `NextPage`.
    private static func spellings(_ name: String) -> [String] {
        guard !name.hasPrefix("@"), !name.contains(".") else { return [name] }
        let words = name.split(separator: "_", omittingEmptySubsequences: false)
        let rest = words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        let camel = (words.first ?? "") + rest
        var spellings = [name]
        for spelling in [String(camel), camel.prefix(1).uppercased() + camel.dropFirst()]
        where !spellings.contains(spelling) {
            spellings.append(spelling)
        }
        return spellings
    }

    /// The pointers to look at: beside the list, and beside each object around it.
    /// - Parameters:
    ///   - items: the pointer to the list.
    ///   - taken: the pointers that the sync reads; none of the result contains one of them or lies in one.
    package static func pointers(around items: JSONPointer, but taken: [JSONPointer]) -> [JSONPointer] {
        var pointers: [JSONPointer] = []
        for depth in items.tokens.indices {
            let names = items.text.split(separator: "/", omittingEmptySubsequences: false)
            let start = names.prefix(depth + 1).joined(separator: "/")
            for member in members {
                guard let pointer = try? JSONPointer("\(start)/\(member.joined(separator: "/"))"),
                    !taken.contains(where: { $0.contains(pointer) || pointer.contains($0) })
                else { continue }
                pointers.append(pointer)
            }
        }
        return pointers
    }

    package init() {}

    /// - Parameters:
    ///   - values: the values at the pointers of ``pointers(around:but:)``.
    ///   - items: of the page.
    package init(_ pointers: [JSONPointer], _ values: some Sequence<EnvelopeValue>, items: Int) {
        for (pointer, value) in zip(pointers, values) where value != .missing {
            guard let name = pointer.tokens.last.map({ String(decoding: $0, as: UTF8.self) }) else { continue }
            add(value, of: name, at: pointer, items: items)
        }
    }

    mutating func add(_ value: EnvelopeValue, of name: String, at pointer: JSONPointer, items: Int) {
        guard let kind = Self.kinds[name] else { return }
        switch (kind, value) {
        case (.next, .text(let text)) where !text.isEmpty:
            set(.next(pointer, isURL: ["http:", "https:", "/", "?"].contains { text.hasPrefix($0) }))
        case (.next, .number), (.next, .tooLong): set(.next(pointer, isURL: false))
        case (.next, .container): set(.next(pointer, isURL: true))
        case (.flag, .bool(let isMore)):
            if flag == nil { flag = pointer }
            if isMore { set(.flag(pointer)) }
        case (.count, _): if let count = value.count, count > items { set(.count(pointer, count)) }
        case (.pages, _): if let count = value.count, count > 1 { set(.pages(pointer, count)) }
        case (.next, _), (.flag, _): return
        }
    }

    private static let kinds: [String: Kind] = Dictionary(
        Kind.allCases.flatMap { kind in kind.names.flatMap(spellings).map { ($0, kind) } }, uniquingKeysWith: { $1 })

    /// The member that leads on counts more than one that only says that there is more.
    private mutating func set(_ sign: Rest) {
        switch (rest, sign) {
        case (nil, _), (.flag, .next), (.count, .next), (.pages, .next): rest = sign
        default: return
        }
    }
}

extension PagingSigns.Rest: CustomStringConvertible {
    /// The sign and the option that reads the rest, in words.
    package var description: String {
        switch self {
        case .next(let pointer, isURL: true):
            "\(pointer) may lead to the next page: --pages link --cursor \(pointer.text)"
        case .next(let pointer, isURL: false):
            "\(pointer) may lead to the next page: --pages cursor --cursor \(pointer.text) --page-parameter NAME, or "
                + "--pages page"
        case .flag(let pointer): "\(pointer) says that there are more: --pages … --more \(pointer.text)"
        case .count(let pointer, let count):
            "\(pointer) is \(count): --pages page, offset or cursor, with --total \(pointer.text) if it counts the records"
        case .pages(let pointer, let count): "\(pointer) is \(count): --pages page"
        case .link: "the answer has a Link to a next page: --pages link"
        case .field(let name, let count): "the answer has \(name): \(count): --pages page or offset"
        case .nextField(let name): "the answer names a next page in \(name): --pages page"
        }
    }
}

/// The signs of a whole answer, in which no option says where the list is.
extension PagingSigns {
    /// The list of an answer: the body itself, or its longest array of objects beside other members.
    struct FoundList: Equatable {
        /// The names of the members that lead to it.
        var names: [String]
        var count: Int

        init?(in answer: JSONValue) {
            if let elements = answer.elements {
                self.init(names: [], count: elements.count)
                return
            }
            var lists: [FoundList] = []
            for member in answer.members ?? [] {
                lists += Self.list(member, in: [])
                for inner in member.value.members ?? [] { lists += Self.list(inner, in: [member.name]) }
            }
            guard let longest = lists.max(by: { $0.count < $1.count }) else { return nil }
            self = longest
        }

        private init(names: [String], count: Int) { (self.names, self.count) = (names, count) }

        private static func list(_ member: JSONValue.Member, in names: [String]) -> [FoundList] {
            guard let elements = member.value.elements, elements.first?.members != nil else { return [] }
            return [FoundList(names: names + [member.name], count: elements.count)]
        }
    }

    /// - Parameters:
    ///   - answer: JSON; nil: only its fields are known.
    ///   - fields: of the answer.
    package init(answer: JSONValue?, fields: HeaderFields) {
        self.init()
        if LinkHeader(fields.values("link")).next != .none {
            rest = .link
            return
        }
        guard let answer, let list = FoundList(in: answer) else { return }
        var object = answer
        var path = ""
        for name in list.names {
            addMembers(of: object, at: path, but: name, items: list.count)
            object = object[name] ?? .null
            path += "/" + name.replacing("~", with: "~0").replacing("/", with: "~1")
        }
        if rest == nil { rest = Self.rest(in: fields.values, items: list.count) }
    }

    private mutating func addMembers(of object: JSONValue, at path: String, but list: String, items: Int) {
        func add(_ member: JSONValue.Member, at path: String) {
            guard let pointer = try? JSONPointer("\(path)/\(member.name)") else { return }
            self.add(EnvelopeValue(member.value), of: member.name, at: pointer, items: items)
        }
        for member in object.members ?? [] where !member.name.hasSameBytes(as: list) {
            add(member, at: path)
            guard Self.containers.contains(member.name) else { continue }
            for inner in member.value.members ?? [] where inner.name.first?.isUppercase != true {
                add(inner, at: "\(path)/\(member.name)")
            }
        }
    }

    /// Fields with the number of records of the whole list, of pages, and with the next page, as servers name them.
    private static let recordFields = [
        "X-Total-Count", "X-Total", "X-WP-Total", "Total-Count", "X-Pagination-Total-Count",
    ]
    private static let pageFields = ["X-Total-Pages", "X-WP-TotalPages", "X-Pagination-Page-Count"]
    private static let nextFields = ["X-Next-Page"]

    /// The fields of an answer that say that the list is longer.
    /// - Parameters:
    ///   - values: the values of a field with this name in lower case.
    ///   - items: of the page.
    package static func rest(in values: (String) -> [String], items: Int) -> Rest? {
        func first(_ name: String) -> String? { values(name.lowercased()).first?.trimmed }
        for name in nextFields { if let value = first(name), !value.isEmpty { return .nextField(name) } }
        for name in recordFields {
            if let count = first(name).flatMap({ Int($0) }), count > items { return .field(name, count) }
        }
        for name in pageFields {
            if let count = first(name).flatMap({ Int($0) }), count > 1 { return .field(name, count) }
        }
        // `items 0-24/870`, as PostgREST and others count. A range of bytes is one of the body.
        if let range = first("Content-Range"), !range.hasPrefix("bytes"),
            let count = range.split(separator: "/").last.flatMap({ Int($0) }), count > items
        {
            return .field("Content-Range", count)
        }
        return nil
    }
}

extension EnvelopeValue {
    init(_ value: JSONValue) {
        switch value {
        case .null: self = .null
        case .bool(let flag): self = .bool(flag)
        case .string(let text): self = .text(text)
        case .integer, .number, .decimal: self = .number(value.text)
        case .array, .object: self = .container(value.kind)
        }
    }
}
