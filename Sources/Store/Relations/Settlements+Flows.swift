internal import Commands

/// The effects on flows, and of them on their nodes.
extension Settlements {
    mutating func cancelNodes(_ cascade: CascadeRow) throws(StoreError) {
        stopping[cascade.turn] = true
        let page = try rows.nodes(of: cascade.turn, after: cascade.after, limit: pageSize)
        try step(cascade, over: page) { (self, turn) throws(StoreError) in
            guard let node = try self.rows.node(turn), node.flags.isDisjoint(with: [.finalizer, .callback]) else {
                return
            }
            try self.requestCancellation(turn, reason: StoredCommand.flowCancelled)
        }
    }

    mutating func requestCancellation(_ turn: Int64, reason: String) throws(StoreError) {
        guard var row = try rows.command(turn: turn) else { return }
        switch row.cancel(reason: reason, now: now, &rows.changes) {
        case .cancelled(let transition): effects.events.append(row.event(transition, shard: shard))
        case .requested: effects.requests.append(row.claimed)
        case .ended: return
        }
        try rows.save(row)
    }

    /// Whether a flow lets no more nodes start.
    mutating func isStopping(_ turn: Int64) throws(StoreError) -> Bool {
        if let known = stopping[turn] { return known }
        let flow = try rows.flow(turn)
        let isStopping =
            try rows.command(turn: turn)?.command.cancelRequested ?? false
            || flow.map { $0.stopsOnFailure && $0.failed > 0 } ?? false
        stopping[turn] = isStopping
        return isStopping
    }

    mutating func countInFlow(_ turn: Int64, isEnd: Bool, isFailure: Bool) throws(StoreError) {
        guard let node = try rows.node(turn), let flow = node.flow, !node.flags.contains(.callback) else { return }
        let flags = isEnd ? node.flags : flagsBefore.removeValue(forKey: turn) ?? node.flags
        let step = isEnd ? 1 : -1
        var change = flowChanges[flow] ?? FlowChange()
        change.ended += step
        if isFailure, flags.isDisjoint(with: [.mayFail, .notNeeded]) {
            change.failed += step
            if isEnd, change.failedNode == nil { change.failedNode = turn }
        }
        flowChanges[flow] = change
    }

    mutating func countInFlows() throws(StoreError) {
        let changes = flowChanges.sorted { $0.key < $1.key }
        flowChanges = [:]
        for (turn, change) in changes {
            guard var flow = try rows.flow(turn), var node = try rows.node(turn) else { continue }
            let hadFailed = flow.failed > 0
            node.pending -= change.ended
            flow.failed += change.failed
            if let failed = change.failedNode, !hadFailed { flow.firstFailed = failed }
            try rows.save(node)
            try rows.save(flow)
            guard var row = try rows.command(turn: turn) else { continue }
            if flow.failed > 0, !hadFailed, flow.stopsOnFailure, row.command.status == .blocked {
                work.append(CascadeRow(turn: turn, step: .cancel, after: 0))
            }
            stopping[turn] = nil
            if node.pending > 0, row.command.status == .cancelled || row.command.status == .tooManyTimes {
                // Its nodes run already.
                if let key = row.key {
                    if !row.holdsKey { try Lanes.hold(key, turn, &rows) }
                    startFlow(turn)
                }
                let transition = row.block(reason: "one of its nodes is retried", now: now, &rows.changes)
                try rows.save(row)
                effects.events.append(row.event(transition, shard: shard))
            } else if node.pending == 0, row.command.status == .blocked {
                try end(&row, flow)
            } else if node.pending > 0, row.command.status == .success, row.key != nil {
                // It stays a success. It may have ended before it had its key, and nothing waits for that any more.
                startFlow(turn)
            }
        }
    }

    mutating func end(_ row: inout StoredCommand, _ flow: FlowRow) throws(StoreError) {
        var reason: String?
        if flow.failed > 0, let turn = flow.firstFailed, let failed = try rows.command(turn: turn) {
            let name = try rows.node(turn)?.name ?? failed.id.description
            let cause = failed.command.reason.map { ": \($0)" } ?? ""
            reason = "\(flow.failed) of \(flow.nodes) nodes failed, “\(name)” first\(cause)"
        }
        let transition = row.endFlow(failed: flow.failed, reason: reason, now: now, &rows.changes)
        try rows.save(row)
        effects.events.append(row.event(transition, shard: shard))
    }
}

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

/// Whether a retried command has to wait for others. Pure: both stores do what this decides.
enum RetryCheck {
    /// A command or flow with an ordering key enters the queue of its key here.
    /// - Throws: `.busy` while its effects are still to be written; `.conflict` where a parent has ended in another way than the command waits for.
    static func mustWait<Rows: RelationRows>(_ row: StoredCommand, _ rows: inout Rows) throws(StoreError) -> Bool {
        let status = row.command.status
        guard status == .cancelled || status == .tooManyTimes else { return false }
        if row.relations.contains(.flow) {
            // It does not wait: its nodes may run already.
            if let key = row.key, !row.holdsKey { try Lanes.hold(key, row.command.turn, &rows) }
            return false
        }
        var mustWait = false
        if row.relations.contains(.node), let node = try rows.node(row.command.turn), node.pending > 0 {
            let failed = try rows.dependencies(of: row.command.turn).first { $0.state == .unsatisfiable }
            if let failed, let parent = try rows.command(turn: failed.parent) {
                throw StoreError.waits(row, forRetryOf: parent)
            }
            let remote = try rows.remoteDependencies(of: row.command.turn).first { $0.state == .unsatisfiable }
            if let remote { throw StoreError.waits(row, for: remote) }
            mustWait = true
        }
        if row.key != nil, try rows.cascade(of: row.command.turn, .settle) != nil {
            // One that depends on it may have its key, and is still to be cancelled.
            throw StoreError(
                .busy, "The effects of the end of command \(row.id) are still being written; try again.", id: row.id)
        }
        if let key = row.key, !row.holdsKey, try !Lanes.enter(key, row.command.turn, limit: nil, &rows) {
            mustWait = true
        }
        return mustWait
    }
}
