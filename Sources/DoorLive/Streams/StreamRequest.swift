internal import Commands
internal import Door
internal import HTTPTypes
internal import Queue

/// The query of `/api/v1/events`. Names that it does not know, and names of the other stream, are errors: a filter that
/// was mistyped would admit everything.
enum StreamRequest: Equatable {
    case view(Set<ViewPart>)
    case log(TransitionFilter, after: TransitionPosition?)

    private static let maxIDs = 1000

    init(_ request: DoorRequest, shardCount: Int) throws(Problem) {
        let query = request.query
        let name = query["stream"] ?? StreamKind.view.rawValue
        guard let kind = StreamKind(rawValue: name) else {
            throw Self.problem("“stream” is “\(name.excerpt)” and must be view or log.")
        }
        let known =
            switch kind {
            case .view: ["stream", "parts"]
            case .log: ["stream", "id", "destination", "status", "type", "qos", "after"]
            }
        if let item = query.items.first(where: { !known.contains($0.name) }) {
            throw Self.problem(
                "The stream “\(kind.rawValue)” does not take “\(item.name.excerpt)”; it takes "
                    + "\(known.joined(separator: ", ")).")
        }
        for name in ["stream", "after"] where query.items.count(where: { $0.name == name }) > 1 {
            throw Self.problem("“\(name)” occurs twice; send it once.")
        }
        switch kind {
        case .view:
            self = .view(
                try Self.set(query, "parts", Self.names(ViewPart.allCases.map(\.rawValue))) { ViewPart(rawValue: $0) }
                    ?? Set(ViewPart.allCases))
        case .log: self = .log(try Self.filter(query), after: try Self.position(request, shardCount))
        }
    }

    private static func filter(_ query: DoorQuery) throws(Problem) -> TransitionFilter {
        var filter = TransitionFilter()
        filter.ids = try set(query, "id", "the UUID of a command") { CommandID($0) }
        if let ids = filter.ids, ids.count > maxIDs { throw problem("“id” takes at most \(maxIDs) ids.") }
        filter.destinations = try set(query, "destination", "an origin such as https://media.example.com, or none") {
            $0 == "none" ? Destination.none : Destination($0)
        }
        filter.statuses = try set(query, "status", names(CommandStatus.allCases.map(\.name))) {
            CommandStatus(name: $0)
        }
        filter.types = try set(query, "type", "a type of commands: 1 to 64 of a-z, 0-9, “.” and “-”") {
            CommandDraft.isType($0) ? $0 : nil
        }
        filter.qos = try set(query, "qos", names(QualityOfService.allCases.map(\.name))) { QualityOfService(name: $0) }
        return filter
    }

    private static func names(_ names: [String]) -> String { "one of " + names.joined(separator: ", ") }

    /// A browser that connects again sends the old query, and the newer position in the field.
    private static func position(_ request: DoorRequest, _ shardCount: Int) throws(Problem) -> TransitionPosition? {
        // An event source without an event so far sends an empty field.
        let field = request.fields[.lastEventID].flatMap { $0.isEmpty ? nil : $0 }
        guard let text = field ?? request.query["after"] else { return nil }
        guard let position = TransitionPosition(text, shardCount: shardCount) else {
            throw problem(
                "“\(text.excerpt)” is not the id of an event of this store, which is \(shardCount) numbers joined by dots; "
                    + "send the last id of the stream, or 0 for everything.")
        }
        return position
    }

    /// The values of a name that may be given several times, each with several values joined by commas.
    /// - Parameter form: completes “… must be”.
    private static func set<Value: Hashable>(
        _ query: DoorQuery, _ name: String, _ form: String, _ read: (String) -> Value?
    ) throws(Problem) -> Set<Value>? {
        let items = query.items.filter { $0.name == name }
        guard !items.isEmpty else { return nil }
        var values: Set<Value> = []
        for text in items.flatMap({ $0.value.split(separator: ",", omittingEmptySubsequences: false) }) {
            guard let value = read(String(text)) else {
                throw problem("“\(name)” has “\(text.excerpt)” and must be \(form).")
            }
            values.insert(value)
        }
        return values
    }

    private static func problem(_ detail: String) -> Problem { Problem(.badRequest, "invalid-query", detail) }
}

extension HTTPField.Name {
    static let lastEventID = HTTPField.Name("Last-Event-ID")!
    static let xAccelBuffering = HTTPField.Name("X-Accel-Buffering")!
}
