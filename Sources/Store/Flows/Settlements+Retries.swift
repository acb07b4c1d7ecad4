internal import Commands

/// The effects of retries.
extension Settlements {
    /// The dependants of a command that is not ended any more.
    mutating func reopen(_ cascade: CascadeRow) throws(StoreError) {
        guard let parent = try rows.command(turn: cascade.turn), !parent.command.status.isEnd else { return }
        let page = try rows.dependants(of: cascade.turn, after: cascade.after, limit: pageSize)
        for var dependency in page where dependency.state == .unsatisfiable {
            dependency.state = .open
            try rows.save(dependency)
            try revive(dependency.child, from: cascade.turn)
        }
        try step(cascade, over: page.map(\.child)) { (_: inout Self, _: Int64) throws(StoreError) in }
    }

    /// A child that the failure of this parent has cancelled waits again, unless another parent's failure keeps it from it.
    mutating func revive(_ turn: Int64, from parent: Int64) throws(StoreError) {
        guard var row = try rows.command(turn: turn), row.command.status == .cancelled,
            var node = try rows.node(turn), node.cause == parent
        else { return }
        let other = try rows.dependencies(of: turn).first { $0.state == .unsatisfiable && $0.parent != parent }
        if let other {
            node.cause = other.parent
            return try rows.save(node)
        }
        if try rows.remoteDependencies(of: turn).contains(where: { $0.state == .unsatisfiable }) {
            // A parent of another shard ended meanwhile. Its retry revives nothing here; a person retries the child.
            node.cause = nil
            return try rows.save(node)
        }
        flagsBefore[turn] = node.flags
        if let key = row.key { _ = try Lanes.enter(key, turn, limit: nil, &rows) }
        let transition = row.block(reason: "its parent is retried", now: now, &rows.changes)
        try rows.save(row)
        effects.events.append(row.event(transition, shard: shard))
    }

    mutating func retryNodes(_ cascade: CascadeRow) throws(StoreError) {
        let page = try rows.nodes(of: cascade.turn, after: cascade.after, limit: pageSize)
        if page.isEmpty { flowChanges[cascade.turn, default: FlowChange()].ended += 0 }
        try step(cascade, over: page) { (self, turn) throws(StoreError) in try self.retryNode(turn) }
    }

    mutating func retryNode(_ turn: Int64) throws(StoreError) {
        guard var row = try rows.command(turn: turn), var node = try rows.node(turn), node.cause == nil,
            !node.flags.contains(.callback), row.command.status == .cancelled || row.command.status == .tooManyTimes
        else { return }
        let unsatisfiable =
            node.pending == 0 ? nil : try rows.dependencies(of: turn).first { $0.state == .unsatisfiable }
        if let unsatisfiable {
            // It follows where that parent is retried too.
            node.cause = unsatisfiable.parent
            let flags = try rows.node(unsatisfiable.parent)?.flags ?? []
            let status = try rows.command(turn: unsatisfiable.parent)?.command.status ?? .success
            if status == .success || flags.contains(.notNeeded), !node.flags.contains(.notNeeded) {
                node.flags.insert(.notNeeded)
                if let flow = node.flow, !node.flags.contains(.mayFail) {
                    flowChanges[flow, default: FlowChange()].failed -= 1
                }
            }
            return try rows.save(node)
        }
        guard let transition = row.retry(by: Actor.person, isBlocked: node.pending > 0, now: now, &rows.changes) else {
            return
        }
        try rows.save(row)
        effects.events.append(row.event(transition, shard: shard))
        if row.isReady { effects.ready.append(row.ready) }
    }
}
