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
