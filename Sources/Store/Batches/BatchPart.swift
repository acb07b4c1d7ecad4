internal import Commands

/// A row of `batch_part`: the members of a batch in one shard. They have no rows but their own; their ends are counted
/// here, once a transaction.
struct BatchPart: Sendable, Equatable {
    enum State: Int, Sendable {
        /// Members may be added.
        case open = 0
        case sealed = 1
        /// The batch is cancelled.
        case cancelled = 2
        /// The batch is told of the end.
        case ended = 3
    }

    /// In the shard.
    var number: Int64 = 0
    var batch: CommandID
    /// Members in all, without those that the batch was told of.
    var members = 0
    /// Members that have not ended.
    var open = 0
    /// Members that have ended in `tooManyTimes` or `cancelled`, less the failures that the batch was told of and that are
    /// retried.
    var failed = 0
    var state: State = .open
    /// Of its members, because an urgent command waits for the batch; nil where none does.
    var minQoS: QualityOfService?

    /// Lets no more members in.
    static func seal<Rows: RelationRows>(
        _ batch: CommandID, shard: Int, _ rows: inout Rows
    ) throws(StoreError) {
        guard var part = try rows.part(of: batch), part.state == .open else { return }
        part.state = .sealed
        try rows.save(part)
        try end(part, shard: shard, &rows)
    }

    /// Counts changes of members.
    static func count<Rows: RelationRows>(
        _ change: TransactionChanges.Members, of batch: CommandID, shard: Int, _ rows: inout Rows
    ) throws(StoreError) {
        guard var part = try rows.part(of: batch), part.state != .ended else {
            return try reopen(batch, retried: -change.ended, shard: shard, &rows)
        }
        part.members += change.added
        part.open += change.added - change.ended
        part.failed += change.failed
        try rows.save(part)
        try end(part, shard: shard, &rows)
    }

    /// Members are retried after the batch was told of the end of this part. The batch takes their failures back and waits
    /// for them again.
    private static func reopen<Rows: RelationRows>(
        _ batch: CommandID, retried: Int, shard: Int, _ rows: inout Rows
    ) throws(StoreError) {
        guard retried > 0 else { return }
        if try rows.part(of: batch) == nil { try rows.save(BatchPart(batch: batch)) }
        guard var part = try rows.part(of: batch) else { return }
        (part.members, part.open, part.failed, part.state) = (retried, retried, 0, .sealed)
        try rows.save(part)
        try rows.post(
            ShardMessage(
                receiver: batch, sender: batch.part(in: shard),
                content: .partEnded(members: -retried, failed: -retried)))
    }

    /// Tells the batch where the last member has ended and no more can come.
    static func end<Rows: RelationRows>(_ part: BatchPart, shard: Int, _ rows: inout Rows) throws(StoreError) {
        guard part.state == .sealed || part.state == .cancelled, part.open == 0 else { return }
        var part = part
        part.state = .ended
        try rows.save(part)
        try rows.post(
            ShardMessage(
                receiver: part.batch, sender: part.batch.part(in: shard),
                content: .partEnded(members: part.members, failed: part.failed)))
    }
}

extension CommandID {
    /// The sender of what the part of this batch in a shard tells.
    func part(in shard: Int) -> CommandID { CommandID(high: high, low: low & ~0xFF | UInt64(shard & 0xFF)) }
}
