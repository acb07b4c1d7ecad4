internal import Commands

/// The quality of service of commands that others wait for: an urgent command does not wait behind one of low quality. It is
/// raised, and never lowered again.
///
/// The commit of the submit raises up to ``Settlements/limit`` commands, those first that run first, and leaves the rest to
/// the next transactions, as cascades.
extension Settlements {
    /// Raises what a blocked command waits for to its quality of service. Each command that is raised, and is blocked itself,
    /// comes here again.
    /// - Parameter isNew: its submit has told other shards, and has set the quality of its nodes.
    mutating func raiseAwaited(by turn: Int64, isNew: Bool) throws(StoreError) {
        guard let row = try rows.command(turn: turn), row.command.status == .blocked else { return }
        try raiseLane(before: row)
        if row.relations.isComposite {
            if !isNew { try raiseContents(of: row, to: row.command.qos) }
        } else if row.relations.contains(.node) {
            try raise(CascadeRow(turn: turn, step: .raiseParents, after: .min), for: row)
            if !isNew { try raiseRemoteParents(of: row) }
        }
    }

    /// Those that have the ordering key that a command waits for, and those that wait for it longer.
    private mutating func raiseLane(before row: StoredCommand) throws(StoreError) {
        guard let (key, turn) = try awaitedKey(row) else { return }
        // Where the nearest one has the quality already, it has raised the others.
        if let nearest = try rows.waiter(key, nearestBefore: turn), let other = try rows.command(turn: nearest),
            other.command.qos >= row.command.qos
        {
            return
        }
        if let holder = try rows.lane(key)?.holder { try raise(holder, to: row.command.qos, for: row.id) }
        try raise(CascadeRow(turn: row.command.turn, step: .raiseLane, after: 0), for: row)
    }

    /// The ordering key that a command, or the flow of a node, waits for, and the turn of the waiter.
    private mutating func awaitedKey(_ row: StoredCommand) throws(StoreError) -> (key: String, turn: Int64)? {
        var owner = row
        if row.key == nil, row.relations.contains(.member) {
            guard let turn = try rows.node(row.command.turn)?.flow, let flow = try rows.command(turn: turn) else {
                return nil
            }
            owner = flow
        }
        guard let key = owner.key, try rows.isWaiter(key, owner.command.turn) else { return nil }
        return (key, owner.command.turn)
    }

    private mutating func raiseRemoteParents(of row: StoredCommand) throws(StoreError) {
        for dependency in try rows.remoteDependencies(of: row.command.turn) where dependency.state == .open {
            try rows.post(
                ShardMessage(
                    receiver: dependency.parent, sender: row.id,
                    content: .awaits(wantsResult: false, qos: row.command.qos)))
        }
    }

    /// The nodes of a flow, or the members of a batch, which may be in any shard: each is told.
    private mutating func raiseContents(of row: StoredCommand, to qos: QualityOfService) throws(StoreError) {
        let turn = row.command.turn
        guard var node = try rows.node(turn), node.flags.awaitedQoS.map({ $0 < qos }) ?? true else { return }
        node.flags.awaitedQoS = qos
        try rows.save(node)
        if row.relations.contains(.flow) {
            return try raise(CascadeRow(turn: turn, step: .raiseNodes, after: 0), for: row)
        }
        for part in try rows.remoteDependencies(of: turn) where part.state == .open {
            try rows.post(ShardMessage(receiver: part.parent, sender: row.id, content: .raisePart(qos)))
        }
    }

    /// Raises the members of a batch in this shard, and those that come later.
    mutating func receiveRaise(of batch: CommandID, to qos: QualityOfService) throws(StoreError) {
        guard var part = try rows.part(of: batch), part.state != .ended, part.minQoS.map({ $0 < qos }) ?? true else {
            return
        }
        part.minQoS = qos
        try rows.save(part)
        work.append(CascadeRow(turn: part.number, step: .raiseMembers, after: 0))
    }

    // MARK: Steps

    /// Continues to raise what a command waits for, or the members of a batch.
    mutating func raise(_ cascade: CascadeRow) throws(StoreError) {
        if cascade.step == .raiseMembers {
            // The number may be another part's since.
            guard let part = try rows.part(cascade.turn), part.state != .ended, let qos = part.minQoS else { return }
            let (size, before) = (pageSize, left)
            let page = try rows.members(of: part.batch, after: cascade.after, limit: size)
            for member in page { try raise(member, to: qos, for: part.batch) }
            return proceed(cascade, page, size, raised: before - left)
        }
        guard let row = try rows.command(turn: cascade.turn), row.command.status == .blocked else { return }
        try raise(cascade, for: row)
    }

    private mutating func raise(_ cascade: CascadeRow, for row: StoredCommand) throws(StoreError) {
        guard left > 0 else { return work.append(cascade) }
        let (turn, size, before) = (cascade.turn, pageSize, left)
        let (qos, waiter) = (row.command.qos, row.id)
        switch cascade.step {
        case .raiseLane:
            guard let (key, own) = try awaitedKey(row) else { return }
            let page = try rows.waiters(key, after: cascade.after, before: own, limit: size)
            for ahead in page { try raise(ahead, to: qos, for: waiter) }
            proceed(cascade, page, size, raised: before - left)
        case .raiseNodes:
            guard let qos = try rows.node(turn)?.flags.awaitedQoS else { return }
            let page = try rows.nodes(of: turn, after: cascade.after, limit: size)
            for node in page where try rows.node(node)?.flags.contains(.callback) == false {
                try raise(node, to: qos, for: waiter)
            }
            proceed(cascade, page, size, raised: before - left)
        default:
            let page = try rows.dependencies(of: turn, after: cascade.after, limit: size)
            for dependency in page where dependency.state == .open && dependency.parent > 0 {
                try raise(dependency.parent, to: qos, for: waiter)
            }
            proceed(cascade, page.map(\.parent), size, raised: before - left)
        }
    }

    /// Continues behind a page, if there may be more.
    private mutating func proceed(_ cascade: CascadeRow, _ page: [Int64], _ size: Int, raised: Int) {
        guard page.count == size, let last = page.last else { return }
        // A long queue whose commands have the quality already takes several transactions too.
        left -= max(page.count - raised, 0)
        work.append(CascadeRow(turn: cascade.turn, step: cascade.step, after: last))
    }

    /// - Parameter waiter: the command that waits for this one.
    mutating func raise(_ turn: Int64, to qos: QualityOfService, for waiter: CommandID) throws(StoreError) {
        guard var row = try rows.command(turn: turn) else { return }
        guard row.command.qos < qos else {
            // Its own quality says nothing about its nodes or members.
            if row.command.status == .blocked, row.relations.isComposite { try raiseContents(of: row, to: qos) }
            return
        }
        guard row.requalify(qos, now: now, &rows.changes) else { return }
        left -= 1
        // The reason of a failure stays.
        if row.command.status == .new || row.command.status == .blocked {
            row.command.reason = "\(waiter) waits for it"
        }
        try rows.save(row)
        if row.isReady { effects.ready.append(row.ready) }
    }
}
