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

extension CommandDraft {
    /// Its dependencies on commands of other shards.
    /// - Parameters:
    ///   - shard: of the draft.
    ///   - find: reads a parent, its node and its result.
    /// - Returns: why it is refused where a parent is unknown, or has ended in another way.
    func remoteDependencies(
        shardCount: Int, _ find: (CommandID) throws(StoreError) -> RemoteParent?
    ) throws(StoreError) -> [RemoteDependency] {
        guard let byte = shardByte, !dependencies.isEmpty else { return [] }
        let shard = Int(byte) & (shardCount - 1)
        var found: [RemoteDependency] = []
        for dependency in dependencies where dependency.parent.shard(of: shardCount) != shard {
            guard let parent = try find(dependency.parent) else { throw StoreError.noParent(dependency.parent) }
            var remote = RemoteDependency(
                parent: dependency.parent, condition: dependency.condition, wantsResult: mayReferToResults)
            if let outcome = ParentOutcome(parent.row.command.status, parent.flags) {
                guard outcome.satisfies(dependency.condition) else {
                    throw StoreError.neverRuns(after: parent.row, dependency.condition)
                }
                remote.end = RemoteEnd(
                    status: parent.row.command.status, result: remote.wantsResult ? parent.result : nil)
            }
            found.append(remote)
        }
        return found
    }

    private var mayReferToResults: Bool { Self.mayReferToResults(payload) }

    /// Looks for a key of a reference, or an escaped character that may be a part of one: a payload is not parsed here.
    static func mayReferToResults(_ payload: [UInt8]) -> Bool {
        payload.firstRange(of: key) != nil || payload.firstRange(of: escape) != nil
    }
    private static let key = Array("\"$result".utf8)
    private static let escape = Array("\\u".utf8)
}

/// A parent in another shard.
struct RemoteParent: Sendable {
    var row: StoredCommand
    var flags: NodeRow.Flags
    var result: [UInt8]?
}

extension RemoteParent {
    init?<Rows: RelationRows>(_ id: CommandID, _ rows: inout Rows) throws(StoreError) {
        guard let row = try rows.command(id) else { return nil }
        let flags = row.relations.contains(.node) ? try rows.node(row.command.turn)?.flags ?? [] : []
        self.init(row: row, flags: flags, result: row.command.status == .success ? try rows.result(of: id) : nil)
    }
}

extension Array where Element == RemoteDependency {
    /// Those whose parents have not ended.
    var openCount: Int { count { $0.end == nil } }

    /// Inserts them for a new command.
    func insert<Rows: RelationRows>(for child: StoredCommand, _ rows: inout Rows) throws(StoreError) {
        for dependency in self {
            try rows.save(
                RemoteDependencyRow(
                    child: child.command.turn, parent: dependency.parent, condition: dependency.condition,
                    state: dependency.end == nil ? .open : .satisfied, status: dependency.end?.status,
                    result: dependency.end?.result))
            guard dependency.end == nil else { continue }
            try rows.post(
                ShardMessage(
                    receiver: dependency.parent, sender: child.id,
                    content: .awaits(wantsResult: dependency.wantsResult, qos: child.command.qos)))
        }
    }
}
