internal import Commands

/// The quality of service of commands that others wait for: an urgent command does not wait behind one of low quality. It is
/// raised, and never lowered again.
///
/// A transaction raises at most ``Settlements/limit`` commands, those first that run first.
extension Settlements {
    /// Raises what a blocked command waits for to its quality of service. Each command that is raised, and is blocked itself,
    /// comes here again.
    /// - Parameter isNew: its submit has told other shards, and has set the quality of its nodes.
    mutating func raiseAwaited(by turn: Int64, isNew: Bool) throws(StoreError) {
        guard raisesLeft > 0, let row = try rows.command(turn: turn), row.command.status == .blocked else { return }
        try raiseLane(of: row, to: row.command.qos, for: row.id)
        guard !row.relations.isComposite else { return isNew ? () : try raiseNodes(of: row) }
        guard row.relations.contains(.node) else { return }
        for dependency in try rows.dependencies(of: turn, after: .min, limit: raisesLeft)
        where dependency.state == .open {
            if dependency.parent > 0 {
                try raise(dependency.parent, to: row.command.qos, for: row.id)
            } else if let flow = try rows.command(turn: -dependency.parent) {
                // Its flow waits for its ordering key.
                try raiseLane(of: flow, to: row.command.qos, for: flow.id)
            }
        }
        guard !isNew else { return }
        for dependency in try rows.remoteDependencies(of: turn) where dependency.state == .open {
            try rows.post(
                ShardMessage(
                    receiver: dependency.parent, sender: row.id,
                    content: .awaits(wantsResult: false, qos: row.command.qos)))
        }
    }

    /// Those that have the ordering key of a command, and those that wait for it longer.
    private mutating func raiseLane(
        of row: StoredCommand, to qos: QualityOfService, for waiter: CommandID
    ) throws(StoreError) {
        let turn = row.command.turn
        guard let key = row.key, try rows.isWaiter(key, turn) else { return }
        // Where the nearest one has the quality already, it has raised the others.
        if let nearest = try rows.waiter(key, nearestBefore: turn), let other = try rows.command(turn: nearest),
            other.command.qos >= qos
        {
            return
        }
        if let holder = try rows.lane(key)?.holder { try raise(holder, to: qos, for: waiter) }
        for ahead in try rows.waiters(key, before: turn, limit: max(raisesLeft, 0)) {
            try raise(ahead, to: qos, for: waiter)
        }
    }

    /// Of a batch, members are not raised: they may be in any shard, and any number.
    private mutating func raiseNodes(of flow: StoredCommand) throws(StoreError) {
        guard flow.relations.contains(.flow) else { return }
        for turn in try rows.nodes(of: flow.command.turn, after: 0, limit: raisesLeft) {
            guard let node = try rows.node(turn), !node.flags.contains(.callback) else { continue }
            try raise(turn, to: flow.command.qos, for: flow.id)
        }
    }

    /// - Parameter waiter: the command that waits for this one.
    mutating func raise(_ turn: Int64, to qos: QualityOfService, for waiter: CommandID) throws(StoreError) {
        guard raisesLeft > 0, var row = try rows.command(turn: turn), row.command.qos < qos,
            row.requalify(qos, now: now, &rows.changes)
        else { return }
        raisesLeft -= 1
        // The reason of a failure stays.
        if row.command.status == .new || row.command.status == .blocked {
            row.command.reason = "\(waiter) waits for it"
        }
        try rows.save(row)
        if row.isReady { effects.ready.append(row.ready) }
    }
}
