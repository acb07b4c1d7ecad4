internal import Commands

/// A row of `remote_dependency`: a command that waits for one of another shard. It also has the result, so that the
/// worker reads one shard, and the parent may be pruned.
struct RemoteDependencyRow: Sendable, Equatable {
    /// A turn.
    var child: Int64
    /// The parent; of a batch, one of its parts (``CommandID/part(in:)``).
    var parent: CommandID
    var condition: DependencyCondition
    var state: DependencyRow.State
    /// Nil until the parent has ended.
    var status: CommandStatus?
    var result: [UInt8]?
}

extension RemoteDependencyRow {
    /// Of a part of a batch: the number of its newest message, because a page of an outbox may be received twice. A part
    /// has no result, so the column of the result keeps it.
    var lastMessage: Int64 {
        get { result.flatMap { Int64(String(decoding: $0, as: UTF8.self)) } ?? 0 }
        set { result = Array("\(newValue)".utf8) }
    }
}

/// A row of `remote_dependant`: a command of another shard that waits for one of this shard.
struct RemoteDependantRow: Sendable, Equatable {
    /// Ascending; 0 for a new row.
    var number: Int64 = 0
    /// A turn.
    var parent: Int64
    var child: CommandID
    var wantsResult: Bool
}

/// A dependency on a command of another shard, as a submit found it.
struct RemoteDependency: Sendable {
    var parent: CommandID
    var condition: DependencyCondition
    /// Nil where the parent has not ended.
    var end: RemoteEnd?
    /// The payload may refer to its result.
    var wantsResult: Bool
}
