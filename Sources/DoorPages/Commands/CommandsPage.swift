internal import Commands
internal import Console
internal import Door
internal import HTTPTypes
internal import Host
internal import Queue

/// The list of commands: filters, the newest first, and verbs for ticked rows or for all that match.
struct CommandsPage: Sendable {
    static let pageSize = 50
    /// The time for a search that no index serves; the page then says how far it has looked.
    static let searchTime: Duration = .milliseconds(250)

    /// A shorter text is looked for in names and reasons: many ids have it.
    private static let minIDPart = 8

    let route: PageRoute
    let actions: ActionRuns

    var endpoints: [Endpoint] {
        [
            route.page("/commands", Self.show),
            route.action("/commands/act", CommandVerbs(actions: actions).act),
        ]
    }

    private static func show(_ visit: Visit) async throws -> Response {
        var query = try CommandsQuery(visit.request.query)
        if query.changed({ $0.text = nil }).isEmpty, let text = query.text, text.utf8.count >= minIDPart,
            let part = CommandIDPart(text),
            let found = try await visit.services.find(part)
        {
            if found.count == 1, let id = found.first?.id { return PageFields.seeOther(visit.url(.command(id))) }
            if !found.isEmpty {
                var page = CommandPage()
                page.commands = found
                let rows = try await visit.services.names(of: found)
                return CommandsView(visit: visit, query: query, page: page, rows: rows).response
            }
        }
        var page = try await visit.services.page(query.filter(now: visit.now), after: query.after)
        // The search box finds reasons where no name has the text.
        if page.commands.isEmpty, page.next == nil, query.text != nil, query.field == .name, query.after == nil {
            let reasons = query.changed { $0.field = .reason }
            let other = try await visit.services.page(reasons.filter(now: visit.now), after: nil)
            if !other.commands.isEmpty || other.next != nil { (query, page) = (reasons, other) }
        }
        let rows = try await visit.services.names(of: page.commands)
        return CommandsView(visit: visit, query: query, page: page, rows: rows).response
    }
}

extension PageServices {
    fileprivate func find(_ part: CommandIDPart) async throws(Problem) -> [Command]? {
        try await read { queue in try queue.find(part, limit: CommandsPage.pageSize) }
    }

    fileprivate func page(_ filter: CommandFilter, after: CommandID?) async throws(Problem) -> CommandPage {
        try await read { queue in
            try queue.page(
                filter, order: .newestFirst, after: after, limit: CommandsPage.pageSize, within: CommandsPage.searchTime
            )
        }
    }

    /// The names of commands in a list.
    func names(of commands: [Command]) async throws(Problem) -> [CommandID: String] {
        try await read { queue in try queue.names(of: commands) }
    }
}

/// The filter of the list of commands, as it stands in the URL. A name or a value that does not parse is an error: a filter
/// that was mistyped would admit everything, and a verb would change it.
struct CommandsQuery: Sendable, Equatable {
    enum Field: String, CaseIterable {
        case name, reason
    }

    /// The names of the items that filter.
    static let names = ["status", "qos", "to", "type", "q", "in", "within", "batch"]
    static let maxText = 200
    /// The choices of the time filter.
    static let periods = ["15m", "1h", "6h", "24h", "7d"]

    var status: CommandStatus?
    var qos: QualityOfService?
    /// As it was typed in: an origin, or a URL.
    var destination: String?
    var type: String?
    var text: String?
    /// Where ``text`` is looked for.
    var field = Field.name
    /// Only members of this batch.
    var batch: CommandID?
    /// Submitted within this time.
    var within: String?
    /// The list goes on behind this command.
    var after: CommandID?

    init() {}

    /// - Parameter isForm: the items are the fields `f-…` of a verb, of which none is empty. The form of the list sends empty
    ///   ones for “any”.
    /// - Throws: 400 for an unknown name, for one that occurs twice, and for a value of another form.
    init(_ query: DoorQuery, isForm: Bool = false) throws(Problem) {
        let known = Self.names + (isForm ? [] : ["before", "notice"])
        for item in query.items {
            guard known.contains(item.name) else {
                throw Self.problem("The filter has no field “\(item.name.excerpt)”.")
            }
            guard query.items.count(where: { $0.name == item.name }) == 1 else {
                throw Self.problem("“\(item.name)” of the filter occurs twice.")
            }
            if isForm, item.value.isEmpty { throw Self.problem("“\(item.name)” of the filter is empty.") }
        }
        func value<Value>(_ name: String, _ parse: (String) -> Value?) throws(Problem) -> Value? {
            guard let text = query[name], !text.isEmpty else { return nil }
            guard text.count <= Self.maxText, let value = parse(text) else {
                throw Self.problem("“\(name)” of the filter is “\(text.excerpt)”, which is not a value of it.")
            }
            return value
        }
        status = try value("status") { CommandStatus(name: $0) }
        qos = try value("qos") { QualityOfService(name: $0) }
        destination = try value("to") { $0 }
        type = try value("type") { $0 }
        text = try value("q") { $0 }
        field = try value("in") { Field(rawValue: $0) } ?? .name
        within = try value("within") { Duration.parse($0) == nil ? nil : $0 }
        batch = try value("batch") { CommandID($0) }
        after = try value("before") { CommandID($0) }
    }

    private static func problem(_ sentence: String) -> Problem {
        Problem(.badRequest, "invalid-query", "\(sentence) Use the filter of the page of commands.")
    }

    func filter(now: Timestamp) -> CommandFilter {
        var filter = CommandFilter(status: status, qos: qos)
        filter.destination = destination.map { Destination(origin: $0) ?? Destination(unchecked: $0) }
        filter.type = type
        filter.batch = batch
        switch field {
        case .name: filter.subject = text
        case .reason: filter.reason = text
        }
        filter.from = within.flatMap { Duration.parse($0) }.map { now + .milliseconds(-$0.milliseconds) }
        return filter
    }

    /// The filter of a question, and of the change that it asks for: commands that were submitted after the question are not
    /// part of either.
    func filter(asked: Timestamp) -> CommandFilter {
        var filter = filter(now: asked)
        filter.before = asked
        return filter
    }

    /// Whether it admits all commands.
    var isEmpty: Bool {
        var query = self
        query.after = nil
        query.field = .name
        return query == CommandsQuery()
    }

    /// The items of the URL, without those that say nothing.
    var items: [(name: String, value: String)] {
        let all = [
            ("status", status?.name), ("qos", qos?.name), ("to", destination), ("type", type), ("q", text),
            ("in", text == nil || field == .name ? nil : field.rawValue), ("within", within),
            ("batch", batch?.description),
            ("before", after?.description),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }

    func changed(_ change: (inout CommandsQuery) -> Void) -> CommandsQuery {
        var query = self
        change(&query)
        return query
    }
}
