internal import Commands

/// Writes the effects that ends and retries of commands have on others, within the transaction that ends or retries
/// them. Pure: both stores do what this decides.
///
/// A transaction changes a bounded number of rows. The rest is left in `cascade`, and goes on in the next transactions
/// (``ExecutionStore/settle(shard:limit:)``), so that a flow of 100,000 nodes holds up no other command.
struct Settlements<Rows: RelationRows> {
    /// Rows that one transaction changes.
    static var limit: Int { 1024 }

    let shard: Int
    let now: Timestamp
    var rows: Rows
    var effects = Effects()
    /// Rows that may still be changed.
    var left: Int
    var work: [CascadeRow] = []
    /// By child: dependencies that became satisfied. They are summed, because many parents of one child may end in a commit.
    var satisfied: [Int64: Int] = [:]
    var flowChanges: [Int64: FlowChange] = [:]
    /// Flags of nodes that were reopened, as they were before.
    var flagsBefore: [Int64: NodeRow.Flags] = [:]
    /// Flows that were read, and whether they let no more nodes start.
    var stopping: [Int64: Bool] = [:]

    struct FlowChange {
        var ended = 0
        var failed = 0
        var failedNode: Int64?
    }

    init(_ rows: Rows, shard: Int, now: Timestamp, limit: Int = Self.limit) {
        self.rows = rows
        self.shard = shard
        self.now = now
        left = limit
    }

    /// Settles what the transaction has changed so far.
    mutating func run() throws(StoreError) {
        while true {
            // A change may cause others, which are not to be left behind.
            while !rows.changes.related.isEmpty {
                for change in rows.changes.takeRelated() { try take(change) }
            }
            for (batch, change) in rows.changes.takeMembers() {
                try BatchPart.count(change, of: batch, shard: shard, &rows)
            }
            if left > 0, !work.isEmpty {
                try rows.prepare(work.suffix(64))
                try perform(work.removeLast())
            } else if !satisfied.isEmpty {
                try releaseSatisfied()
            } else if !flowChanges.isEmpty {
                try countInFlows()
            } else {
                // The last changes have left work beyond the limit.
                try postpone()
                break
            }
            if left <= 0 { try postpone() }
        }
        if effects.hasMore { return }
        effects.hasMore = try rows.cascade() != nil
    }

    /// Goes on with cascades that earlier transactions have left.
    mutating func runPostponed() throws(StoreError) {
        while left > 0 {
            // Several at once, so that a flow is counted once for all of them.
            work = try rows.takeCascades(64)
            if work.isEmpty { break }
            try run()
        }
        effects.hasMore = try rows.cascade() != nil
    }

    /// Leaves the work to other transactions.
    mutating func postpone() throws(StoreError) {
        for cascade in work {
            // One that began later may have come less far.
            if cascade.step.isRaise, let other = try rows.cascade(of: cascade.turn, cascade.step),
                other.after < cascade.after
            {
                continue
            }
            try rows.save(cascade)
        }
        if !work.isEmpty { effects.hasMore = true }
        work = []
    }

    /// A related command has ended, is not ended any more, or its flow is cancelled or retried.
    mutating func take(_ change: TransactionChanges.Related) throws(StoreError) {
        switch change.kind {
        case .keyAwaited: try leaveLane(change.turn, isEnd: false)
        case .keyGivenUp: try leaveLane(change.turn, isEnd: true)
        case .submitted: try raiseAwaited(by: change.turn, isNew: true)
        case .raised: try raiseAwaited(by: change.turn, isNew: false)
        case .ended:
            if change.hasKey, !change.holdsKey { try leaveLane(change.turn, isEnd: true) }
            try countInFlow(change.turn, isEnd: true, isFailure: change.status != .success)
            if change.isParent { work.append(CascadeRow(turn: change.turn, step: .settle, after: 0)) }
            if change.relations.contains(.watched) {
                work.append(CascadeRow(turn: change.turn, step: .notify, after: 0))
            }
        case .reopened:
            try countInFlow(change.turn, isEnd: false, isFailure: true)
            if var node = try rows.node(change.turn), node.cause != nil || node.flags.contains(.notNeeded) {
                node.cause = nil
                node.flags.remove(.notNeeded)
                try rows.save(node)
            }
            if change.isParent { work.append(CascadeRow(turn: change.turn, step: .reopen, after: 0)) }
        case .flowCancelled where change.relations.contains(.batch): try cancelParts(of: change.turn)
        case .flowCancelled: work.append(CascadeRow(turn: change.turn, step: .cancel, after: 0))
        case .flowRetried:
            work.append(CascadeRow(turn: change.turn, step: .retry, after: 0))
            // It may have been cancelled before it had its key.
            if change.hasKey { startFlow(change.turn) }
        }
    }

    mutating func perform(_ cascade: CascadeRow) throws(StoreError) {
        switch cascade.step {
        case .settle: try settle(cascade)
        case .reopen: try reopen(cascade)
        case .cancel: try cancelNodes(cascade)
        case .retry: try retryNodes(cascade)
        case .notify: try notify(cascade)
        case .cancelPart: try cancelMembers(cascade)
        case .raiseParents, .raiseNodes, .raiseLane, .raiseMembers: try raise(cascade)
        }
    }

    /// Changes rows one after the other, as many as may be changed, and goes on later where more are left.
    mutating func step(
        _ cascade: CascadeRow, over turns: [Int64], _ body: (inout Self, Int64) throws(StoreError) -> Void
    ) throws(StoreError) {
        for turn in turns { try body(&self, turn) }
        guard let last = turns.last else { return }
        left -= turns.count
        work.append(CascadeRow(turn: cascade.turn, step: cascade.step, after: last))
    }

    var pageSize: Int { max(min(left, 256), 1) }

    // MARK: Dependants

    /// The dependants of a command that has ended.
    mutating func settle(_ cascade: CascadeRow) throws(StoreError) {
        if cascade.turn < 0 { return try start(cascade) }
        guard let parent = try rows.command(turn: cascade.turn) else { return }
        let node = try rows.node(cascade.turn)
        guard let outcome = ParentOutcome(parent.command.status, node?.flags ?? []) else { return }
        let size = pageSize
        let page = try rows.dependants(of: cascade.turn, after: cascade.after, limit: size)
        for var dependency in page where dependency.state != .satisfied {
            if outcome.satisfies(dependency.condition) {
                if dependency.state == .unsatisfiable { try revive(dependency.child, from: cascade.turn) }
                dependency.state = .satisfied
                try rows.save(dependency)
                satisfied[dependency.child, default: 0] += 1
            } else if dependency.state == .open {
                dependency.state = .unsatisfiable
                try rows.save(dependency)
                try cancel(dependency, after: parent, node, isUnneeded: outcome.makesUnneeded(dependency.condition))
            }
        }
        left -= page.count
        // Each command of a chain has one dependant: it is not read again to find no more.
        guard page.count == size, let last = page.last else { return }
        work.append(CascadeRow(turn: cascade.turn, step: cascade.step, after: last.child))
    }

    /// Cancels a command that cannot run any more, or is not needed.
    /// - Parameter node: of the parent.
    mutating func cancel(
        _ dependency: DependencyRow, after parent: StoredCommand, _ node: NodeRow?, isUnneeded: Bool
    ) throws(StoreError) {
        let name = "“\(node?.name ?? parent.id.description)”"
        let reason: String
        if !isUnneeded, let inherited = parent.command.reason, node?.cause != nil,
            node?.flags.contains(.notNeeded) == false
        {
            // It names the command that began the chain. A reason that grew with each command would cost a chain of 20,000
            // the square of its length.
            reason = inherited
        } else if isUnneeded {
            reason =
                parent.command.status == .success
                ? "not needed: \(name) succeeded" : "not needed: \(name) was not needed"
        } else {
            let word = parent.command.status == .cancelled ? "was cancelled" : "was given up"
            reason = "it waited for \(name), which \(word)" + (parent.command.reason.map { ": \($0)" } ?? "")
        }
        try cancelDependant(dependency.child, cause: dependency.parent, isUnneeded: isUnneeded, reason: reason)
    }

    mutating func cancelDependant(
        _ turn: Int64, cause: Int64?, isUnneeded: Bool, reason: String
    ) throws(StoreError) {
        guard var child = try rows.command(turn: turn), child.command.status == .blocked,
            var node = try rows.node(turn)
        else { return }
        node.cause = cause
        if isUnneeded { node.flags.insert(.notNeeded) }
        try rows.save(node)
        let transition = child.cancelBlocked(reason: reason, now: now, &rows.changes)
        try rows.save(child)
        effects.events.append(child.event(transition, shard: shard))
    }

    mutating func releaseSatisfied() throws(StoreError) {
        let counts = satisfied.sorted { $0.key < $1.key }
        satisfied = [:]
        for (turn, count) in counts {
            guard var node = try rows.node(turn) else { continue }
            node.pending -= count
            try rows.save(node)
            if node.pending == 0 { try release(node) }
        }
    }

    /// The last dependency is satisfied.
    mutating func release(_ node: NodeRow) throws(StoreError) {
        guard var row = try rows.command(turn: node.turn), row.command.status == .blocked,
            !row.relations.contains(.flow)
        else { return }
        if row.relations.contains(.batch) { return try endBatch(&row) }
        if let flow = node.flow, node.flags.isDisjoint(with: [.finalizer, .callback]), try isStopping(flow) {
            let transition = row.cancelBlocked(reason: StoredCommand.flowCancelled, now: now, &rows.changes)
            try rows.save(row)
            effects.events.append(row.event(transition, shard: shard))
            return
        }
        if let flow = node.flow, node.flags.contains(.finalizer), let row = try rows.command(turn: flow),
            let key = row.key,
            try rows.isWaiter(key, flow)
        {
            // The flow was cancelled before it had its key: there is nothing to finish.
            return try cancelNode(node.turn, reason: StoredCommand.flowCancelled)
        }
        if let key = row.key, try rows.isWaiter(key, node.turn) { return }
        try unblock(&row)
    }

    mutating func cancelNode(_ turn: Int64, reason: String) throws(StoreError) {
        guard var row = try rows.command(turn: turn), row.command.status == .blocked else { return }
        let transition = row.cancelBlocked(reason: reason, now: now, &rows.changes)
        try rows.save(row)
        effects.events.append(row.event(transition, shard: shard))
    }

    mutating func unblock(_ row: inout StoredCommand) throws(StoreError) {
        let transition = row.unblock(now: now, &rows.changes)
        try rows.save(row)
        effects.events.append(row.event(transition, shard: shard))
        if row.isReady { effects.ready.append(row.ready) }
    }
}
