internal import Commands

/// The effects on batches and their members.
extension Settlements {
    /// A part has ended; or, with negative numbers, members of it are retried.
    mutating func receivePartEnd(_ message: ShardMessage, members: Int, failed: Int) throws(StoreError) {
        let isReopened = members < 0
        guard let batch = try rows.command(message.receiver),
            var dependency = try rows.remoteDependency(of: batch.command.turn, on: message.sender),
            dependency.state == (isReopened ? .satisfied : .open), message.number > dependency.lastMessage,
            var counts = try rows.flow(batch.command.turn)
        else { return }
        dependency.state = isReopened ? .open : .satisfied
        dependency.lastMessage = message.number
        try rows.save(dependency)
        counts.nodes += members
        counts.failed += failed
        try rows.save(counts)
        if isReopened { try reopen(batch) } else { satisfied[batch.command.turn, default: 0] += 1 }
    }

    /// The batch waits for one part more.
    private mutating func reopen(_ batch: StoredCommand) throws(StoreError) {
        guard var row = try rows.command(turn: batch.command.turn), var node = try rows.node(batch.command.turn) else {
            return
        }
        node.pending += 1
        try rows.save(node)
        guard row.command.status == .cancelled || row.command.status == .tooManyTimes else { return }
        let transition = row.block(reason: "one of its members is retried", now: now, &rows.changes)
        try rows.save(row)
        effects.events.append(row.event(transition, shard: shard))
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
