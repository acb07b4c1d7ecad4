internal import Commands
internal import Door
internal import HTTPTypes

/// Reads the query of a request strictly: an unknown name would be a filter that filters nothing.
struct QueryReader {
    private let query: DoorQuery

    /// - Parameters:
    ///   - known: the names that the resource takes.
    ///   - repeated: those that may occur several times.
    /// - Throws: 400 for another name, and for any other one that occurs twice.
    init(_ request: DoorRequest, _ known: [String], repeated: Set<String> = []) throws(Problem) {
        query = request.query
        var seen: Set<String> = []
        for (name, _) in query.items {
            guard known.contains(name) else {
                let names = known.isEmpty ? "it takes none" : "it takes \(known.joined(separator: ", "))"
                throw Self.problem("The resource takes no parameter “\(name.excerpt)”; \(names).")
            }
            guard seen.insert(name).inserted || repeated.contains(name) else {
                throw Self.problem("“\(name)” occurs twice; send it once.")
            }
        }
    }

    /// For a query whose names are checked.
    init(_ query: DoorQuery) { self.query = query }

    /// - Returns: nil where the parameter is missing.
    /// - Throws: 400 where it is empty or longer than 1,024 bytes.
    func text(_ name: String) throws(Problem) -> String? {
        guard let text = query[name] else { return nil }
        guard (1...1024).contains(text.utf8.count) else {
            throw Self.problem("“\(name)” is a text of 1 to 1,024 bytes; leave it out, or send one.")
        }
        return text
    }

    /// The values of a parameter that may occur several times, each a value or several with commas between.
    /// - Throws: 400 where `parse` returns nil for one.
    func values<Value>(_ name: String, _ form: String, _ parse: (String) -> Value?) throws(Problem) -> [Value] {
        var values: [Value] = []
        for item in query.items where item.name == name {
            for text in item.value.split(separator: ",", omittingEmptySubsequences: false) {
                guard let value = parse(String(text)) else {
                    throw Self.problem("“\(name)” is “\(text.excerpt)” and must be \(form).")
                }
                values.append(value)
            }
        }
        return values
    }

    /// - Parameter form: completes “… must be”.
    /// - Throws: 400 where `parse` returns nil.
    func value<Value>(_ name: String, _ form: String, _ parse: (String) -> Value?) throws(Problem) -> Value? {
        guard let text = try text(name) else { return nil }
        guard let value = parse(text) else {
            throw Self.problem("“\(name)” is “\(text.excerpt)” and must be \(form).")
        }
        return value
    }

    func integer(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
        try value(name, "a whole number from \(range.lowerBound) to \(range.upperBound)") { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// Entries of a page: 1 to 1,000.
    func limit(default count: Int = 100) throws(Problem) -> Int { try integer("limit", in: 1...1000) ?? count }

    func order() throws(Problem) -> CommandOrder? {
        try value("order", "new or old") { ["new": .newestFirst, "old": .oldestFirst][$0] }
    }

    static func problem(_ detail: String) -> Problem { Problem(.badRequest, "invalid-query", detail) }
}

/// The place where the next page of a list begins. Opaque to clients.
struct PageCursor: Equatable {
    let order: CommandOrder
    let after: CommandID

    init(_ order: CommandOrder, after: CommandID) {
        self.order = order
        self.after = after
    }

    /// Nil for anything but ``text``.
    init?(_ text: String) {
        guard let order: CommandOrder = ["n": .newestFirst, "o": .oldestFirst][text.prefix(1)],
            let id = CommandID(text.dropFirst())
        else { return nil }
        self.init(order, after: id)
    }

    var text: String { (order == .newestFirst ? "n" : "o") + after.description }
}
