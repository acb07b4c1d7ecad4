internal import Commands
internal import Console
internal import HTTPClient
internal import Store

/// A command as the API shows it, with its entity tag.
struct CommandRepresentation: Sendable {
    let command: Command
    let body: [UInt8]
    let tag: EntityTag
    /// `seq` of the newest transition.
    let newest: Int64

    var status: CommandStatus { command.status }

    /// Members that only tokens with the scope read see.
    enum Hidden {
        case none, result, payloadAndResult
    }

    /// - Parameter hidden: members that are null. The entity tag is that of the whole representation.
    init(_ details: CommandDetails, shardCount: Int, hidden: Hidden = .none) {
        command = details.command
        newest = details.timeline.last?.seq ?? 0
        let whole = details.json.bytes
        tag = EntityTag(shard: command.id.shard(of: shardCount), seq: newest, body: whole)
        guard hidden != .none else {
            body = whole
            return
        }
        var visible = details
        visible.result = nil
        if hidden == .payloadAndResult { visible.payload = nil }
        body = visible.json.bytes
    }
}

extension CommandDetails {
    /// Reads a command without the secrets of its payload and result. It blocks.
    /// - Returns: nil where there is none.
    init?(_ id: CommandID, in store: any CommandStore) throws(StoreError) {
        guard let (command, timeline) = try Self.read(id, in: store) else { return nil }
        self.init(command)
        self.timeline = timeline
        payload = try store.payload(id).map { HTTPHeaderRedaction.shown(JSONValue(stored: $0)) }
        result = try store.result(id).map { HTTPHeaderRedaction.shown(result: JSONValue(stored: $0)) }
        waits = try store.dependencies(of: id, limit: 20)
        if command.type == CommandType.flow { flow = try store.flow(id) }
        if command.type == CommandType.batch { batch = try store.batch(id) }
    }

    private static let maxReads = 5
    /// A command that has waited for days at a link has thousands of transitions.
    private static let maxTransitions = 100

    /// Reads a command after its timeline, and both again where a transition came in between. So the entity tag is never of
    /// a later transition than the status: a client that sends it in `If-Match` has seen that status.
    private static func read(
        _ id: CommandID, in store: any CommandStore
    ) throws(StoreError) -> (command: Command, timeline: [Transition])? {
        for read in 1...maxReads {
            let timeline = try store.timeline(id, before: nil, limit: maxTransitions)
            guard let command = try store.command(id) else { return nil }
            if command.status == timeline.last?.status || read == maxReads { return (command, timeline) }
        }
        return nil
    }
}
