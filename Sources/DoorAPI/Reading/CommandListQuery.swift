internal import Commands
internal import Door

/// The query of a list of commands.
struct CommandListQuery: Sendable {
    private static let filters = [
        "status", "qos", "destination", "type", "batch", "reason", "q", "from", "before",
    ]

    let filter: CommandFilter
    let order: CommandOrder
    /// Nil: at the start.
    let after: CommandID?
    let limit: Int

    /// - Throws: 400 for a parameter that the list does not take, and for a value of another form.
    init(_ request: DoorRequest) throws(Problem) {
        let query = try QueryReader(request, Self.filters + ["order", "limit", "cursor"], repeated: ["status"])
        filter = try Self.filter(query)
        limit = try query.limit()
        let cursor = try query.value("cursor", "the cursor of a page before") { PageCursor($0) }
        let order = try query.order()
        if let cursor, let order, cursor.order != order {
            throw QueryReader.problem("The cursor is of a list in the other order; leave out “order”, or begin anew.")
        }
        self.order = cursor?.order ?? order ?? .newestFirst
        after = cursor?.after
    }

    static func filter(_ query: QueryReader) throws(Problem) -> CommandFilter {
        var filter = CommandFilter()
        filter.statuses = Set(try query.values("status", CommandFilterForm.statuses) { CommandStatus(name: $0) })
        filter.qos = try query.value("qos", CommandFilterForm.qualities) { QualityOfService(name: $0) }
        filter.destination = try query.value("destination", CommandFilterForm.destination) {
            $0 == "none" ? Destination.none : Destination($0)
        }
        filter.type = try query.value("type", CommandFilterForm.type) { CommandDraft.isType($0) ? $0 : nil }
        filter.batch = try query.value("batch", "the UUID of a batch") { CommandID($0) }
        filter.reason = try query.text("reason")
        filter.subject = try query.text("q")
        filter.from = try query.value("from", CommandFilterForm.time) { Timestamp(rfc3339: $0) }
        filter.before = try query.value("before", CommandFilterForm.time) { Timestamp(rfc3339: $0) }
        return filter
    }
}

/// The forms of the fields of a filter, for messages: each completes “must be”.
enum CommandFilterForm {
    static let statuses = "one or several of " + CommandStatus.allCases.map(\.name).joined(separator: ", ")
    static let qualities = "one of " + QualityOfService.allCases.map(\.name).joined(separator: ", ")
    static let destination = "an origin such as https://media.example.com, or none"
    static let type = "the type of a command: 1 to 64 of a-z, 0-9, “.” and “-”"
    static let time = "a time as RFC 3339 writes it, such as 2025-11-13T02:13:20Z"
}

extension CommandFilter {
    /// Whether a list may have to look at many commands. A status, or none, is answered from an index.
    var needsSlot: Bool {
        var others = self
        others.status = nil
        return others != CommandFilter()
    }
}
