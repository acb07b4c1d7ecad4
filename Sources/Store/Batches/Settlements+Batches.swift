internal import Commands

/// The effects on batches and their members.
extension Settlements {
    mutating func receivePartEnd(_ message: ShardMessage, members: Int, failed: Int) throws(StoreError) {
        guard let batch = try rows.command(message.receiver),
            var dependency = try rows.remoteDependency(of: batch.command.turn, on: message.sender),
            dependency.state == .open, var counts = try rows.flow(batch.command.turn)
        else { return }
        dependency.state = .satisfied
        try rows.save(dependency)
        counts.nodes += members
        counts.failed += failed
        try rows.save(counts)
        satisfied[batch.command.turn, default: 0] += 1
    }

    /// The members in all shards have ended.
    mutating func endBatch(_ row: inout StoredCommand) throws(StoreError) {
        guard let counts = try rows.flow(row.command.turn) else { return }
        let reason = counts.failed > 0 ? "\(counts.failed) of \(counts.nodes) members failed" : nil
        let transition = row.endFlow(failed: counts.failed, reason: reason, now: now, &rows.changes)
        try rows.save(row)
        effects.events.append(row.event(transition, shard: shard))
    }

    /// A batch is cancelled: each shard is told.
    mutating func cancelParts(of turn: Int64) throws(StoreError) {
        guard let batch = try rows.command(turn: turn) else { return }
        for part in try rows.remoteDependencies(of: turn) where part.state == .open {
            try rows.post(ShardMessage(receiver: part.parent, sender: batch.id, content: .cancelPart))
        }
    }

    mutating func cancelMembers(_ cascade: CascadeRow) throws(StoreError) {
        // The number may be another part's since.
        guard let part = try rows.part(cascade.turn), part.state == .cancelled else { return }
        let page = try rows.members(of: part.batch, after: cascade.after, limit: pageSize)
        try step(cascade, over: page) { (self, turn) throws(StoreError) in
            try self.requestCancellation(turn, reason: StoredCommand.batchCancelled)
        }
    }
}
