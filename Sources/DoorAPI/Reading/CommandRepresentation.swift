internal import Commands
internal import Console
internal import HTTPClient
internal import Queue

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
