internal import Commands
internal import Console
internal import HTTPClient
internal import Store

/// A command as the API shows it, with its entity tag.
struct CommandRepresentation: Sendable {
    let command: Command
    let body: [UInt8]
    let tag: EntityTag

    var status: CommandStatus { command.status }

    init(_ details: CommandDetails, shardCount: Int) {
        command = details.command
        body = details.json.bytes
        tag = EntityTag(
            shard: command.id.shard(of: shardCount), seq: details.timeline.last?.seq ?? 0, body: body)
    }
}

extension CommandDetails {
    /// Reads a command without the secrets of its payload and result. It blocks.
    /// - Returns: nil where there is none.
    init?(_ id: CommandID, in store: any CommandStore) throws(StoreError) {
        guard let command = try store.command(id) else { return nil }
        self.init(command)
        timeline = try store.timeline(id)
        payload = try store.payload(id).map { HTTPHeaderRedaction.shown(JSONValue(stored: $0)) }
        result = try store.result(id).map { HTTPHeaderRedaction.shown(result: JSONValue(stored: $0)) }
        waits = try store.dependencies(of: id, limit: 20)
        if command.type == CommandType.flow { flow = try store.flow(id) }
        if command.type == CommandType.batch { batch = try store.batch(id) }
    }
}
