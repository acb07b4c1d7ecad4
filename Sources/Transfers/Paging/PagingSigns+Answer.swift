package import Commands
internal import HTTPClient

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
