internal import Commands
internal import Console
internal import Door

/// The filter of the list of commands, as it stands in the URL. A value that does not parse counts for nothing.
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

    init(_ query: DoorQuery) {
        func value(_ name: String) -> String? {
            query[name].flatMap { $0.isEmpty ? nil : String($0.prefix(Self.maxText)) }
        }
        status = value("status").flatMap(CommandStatus.init(name:))
        qos = value("qos").flatMap(QualityOfService.init(name:))
        destination = value("to")
        type = value("type")
        text = value("q")
        field = value("in").flatMap(Field.init) ?? .name
        within = value("within").flatMap { Duration.parse($0) == nil ? nil : $0 }
        batch = value("batch").flatMap { CommandID($0) }
        after = value("before").flatMap { CommandID($0) }
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
