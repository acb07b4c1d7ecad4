internal import Commands

/// The rows of commands that are related to others.
extension MemoryShard: RelationRows {
    func command(turn: Int64) -> StoredCommand? { ids[turn].flatMap { rows[$0] } }
    mutating func save(_ command: StoredCommand) { store(command) }

    func payload(of id: CommandID) -> [UInt8]? { payloads[id] }
    func result(of id: CommandID) -> [UInt8]? { results[id] }

    func node(_ turn: Int64) -> NodeRow? { nodes[turn] }
    mutating func save(_ node: NodeRow) { nodes[node.turn] = node }
    func nodes(after turn: Int64, limit: Int) -> [NodeRow] {
        Array(nodes.values.filter { $0.turn > turn }.sorted { $0.turn < $1.turn }.prefix(limit))
    }
    func nodes(of flow: Int64, after turn: Int64, limit: Int) -> [Int64] {
        Array(nodes.values.filter { $0.flow == flow && $0.turn > turn }.map(\.turn).sorted().prefix(limit))
    }

    func dependants(of parent: Int64, after child: Int64, limit: Int) -> [DependencyRow] {
        let rows = dependants[parent, default: [:]].values.filter { $0.child > child }
        return Array(rows.sorted { $0.child < $1.child }.prefix(limit))
    }

    func dependencies(of child: Int64) -> [DependencyRow] {
        parents[child, default: []].sorted().compactMap { dependants[$0]?[child] }
    }

    func dependencies(of child: Int64, after parent: Int64, limit: Int) -> [DependencyRow] {
        Array(dependencies(of: child).filter { $0.parent > parent }.prefix(limit))
    }

    mutating func save(_ dependency: DependencyRow) {
        dependants[dependency.parent, default: [:]][dependency.child] = dependency
        parents[dependency.child, default: []].insert(dependency.parent)
    }

    func flow(_ turn: Int64) -> FlowRow? { flows[turn] }
    mutating func save(_ flow: FlowRow) { flows[flow.turn] = flow }

    func cascade() -> CascadeRow? { cascades.first }
    func cascade(of turn: Int64, _ step: CascadeRow.Step) -> CascadeRow? {
        cascades.first { $0.turn == turn && $0.step == step }
    }
    mutating func save(_ cascade: CascadeRow) {
        cascades.removeAll { $0.turn == cascade.turn && $0.step == cascade.step }
        cascades.append(cascade)
    }
    mutating func takeCascades(_ maxCount: Int) -> [CascadeRow] {
        defer { cascades.removeFirst(min(maxCount, cascades.count)) }
        return Array(cascades.prefix(maxCount))
    }

    // MARK: Inserts

    mutating func insert(
        related draft: CommandDraft, digest: [UInt8]?, id: CommandID, remote: [RemoteDependency], now: Timestamp
    ) -> Result<Submission, StoreError> {
        let turn = turn + 1
        var dependencies: [DependencyRow] = []
        let others = Set(remote.map(\.parent))
        for dependency in draft.dependencies where !others.contains(dependency.parent) {
            guard let parent = rows[dependency.parent] else { return .failure(.noParent(dependency.parent)) }
            let outcome = ParentOutcome(parent.command.status, nodes[parent.command.turn]?.flags ?? [])
            let state = DependencyRow.State.initialState(dependency.condition, outcome)
            guard state != .unsatisfiable else { return .failure(.neverRuns(after: parent, dependency.condition)) }
            dependencies.append(
                DependencyRow(parent: parent.command.turn, child: turn, condition: dependency.condition, state: state))
        }
        let open = dependencies.count { $0.state == .open } + remote.openCount
        var row = StoredCommand(draft, digest: digest, id: id, turn: turn, now: now)
        if !draft.dependencies.isEmpty {
            row.relations.insert(.node)
            nodes[turn] = NodeRow(turn: turn, pending: open)
        }
        if open > 0 { row.command.status = .blocked }
        if let key = row.key {
            do throws(StoreError) {
                if try !Lanes.enter(key, turn, limit: draft.keyLimit, &self) { row.command.status = .blocked }
            } catch {
                return .failure(error)
            }
        }
        do throws(StoreError) {
            try remote.insert(for: row, &self)
        } catch {
            return .failure(error)
        }
        for dependency in dependencies {
            save(dependency)
            if var parent = command(turn: dependency.parent) {
                parent.relations.insert(.parent)
                store(parent)
            }
        }
        // A flow stays as long as a command outside of it depends on one of its nodes.
        for flow in dependencies.compactMap({ nodes[$0.parent]?.flow }) where dependants[flow]?[turn] == nil {
            save(DependencyRow(parent: flow, child: turn, condition: .end, state: .satisfied))
            if var row = command(turn: flow) {
                row.relations.insert(.parent)
                store(row)
            }
        }
        insert(row, payload: draft.payload)
        var submission = Submission(id: id, isExisting: false, turn: turn)
        submission.isBlocked = row.command.status == .blocked
        return .success(submission)
    }

    /// - Parameter ids: of the flow, of each node, and of each callback.
    mutating func submit(_ plan: FlowPlan, ids: [CommandID], now: Timestamp) throws(StoreError) -> FlowSubmission {
        let draft = plan.draft
        if let unique = draft.unique, let holder = holder(of: unique, at: now) {
            guard holder.digest == draft.digest else { throw holder.conflict(over: unique.key) }
            return FlowSubmission(submission: Submission(id: holder.id, isExisting: true))
        }
        let turn = turn + 1
        var waits = false
        if let key = draft.orderingKey { waits = try !Lanes.enter(key, turn, limit: draft.keyLimit, &self) }
        let layout = FlowLayout(plan, draft, digest: draft.digest, ids: ids, turn: turn, waits: waits, now: now)
        insert(layout)
        return layout.submission
    }

    private mutating func insert(_ layout: FlowLayout) {
        for member in layout.members {
            nodes[member.node.turn] = member.node
            for dependency in member.dependencies { save(dependency) }
        }
        flows[layout.flow.turn] = layout.flow
        transaction { shard in
            for member in layout.members { shard.insert(member.row, payload: member.payload) }
        }
    }

    /// The commands that are deleted with this one; nil where it goes with its flow, or with the last command that depends on
    /// it.
    func prunable(_ row: StoredCommand, isOld: (StoredCommand) -> Bool) -> [StoredCommand]? {
        let turn = row.command.turn
        let isFlow = row.relations.isComposite
        if !isFlow, nodes[turn]?.flow != nil { return nil }
        let own = [row] + (isFlow ? nodes(of: turn, after: 0, limit: .max).compactMap { command(turn: $0) } : [])
        var gone = Set(own.map(\.command.turn))
        let isNeeded = gone.contains { dependants[$0, default: [:]].keys.contains { !gone.contains($0) } }
        if isNeeded || own.dropFirst().contains(where: { !$0.command.status.isEnd }) { return nil }
        // Parents that nothing else depends on.
        var all = own
        var next = 0
        while next < all.count {
            for parent in parents[all[next].command.turn, default: []].sorted() where !gone.contains(parent) {
                // One that holds its ordering key is cancelled first, which lets the next one have the key.
                guard let row = command(turn: parent), isOld(row), row.command.status.isEnd, !row.holdsKey,
                    nodes[parent]?.flow == nil, !row.relations.isComposite,
                    dependants[parent, default: [:]].keys.allSatisfy({ gone.contains($0) })
                else { continue }
                gone.insert(parent)
                all.append(row)
            }
            next += 1
        }
        return all
    }

    mutating func removeRelations(of turn: Int64) {
        nodes[turn] = nil
        flows[turn] = nil
        messages.dependencies[turn] = nil
        messages.dependants.removeAll { $0.parent == turn }
        for parent in parents.removeValue(forKey: turn) ?? [] { dependants[parent]?[turn] = nil }
        for child in dependants.removeValue(forKey: turn)?.keys.map({ $0 }) ?? [] { parents[child]?.remove(turn) }
    }
}

/// The rows of ordering keys.
extension MemoryShard {
    func lane(_ key: String) -> LaneRow? { lanes[key] }
    mutating func save(_ lane: LaneRow) { lanes[lane.key] = lane }
    mutating func remove(_ lane: LaneRow) { lanes[lane.key] = nil }

    func lanes(after key: String?, limit: Int) -> [LaneRow] {
        func isAfter(_ other: String, _ key: String) -> Bool { key.utf8.lexicographicallyPrecedes(other.utf8) }
        let found = lanes.values.filter { lane in key.map { isAfter(lane.key, $0) } ?? true }
        return Array(found.sorted { isAfter($1.key, $0.key) }.prefix(limit))
    }

    mutating func addWaiter(_ key: String, _ turn: Int64) { waiters[key, default: []].insert(turn) }

    mutating func removeWaiter(_ key: String, _ turn: Int64) -> Bool {
        guard waiters[key]?.remove(turn) != nil else { return false }
        if waiters[key]?.isEmpty == true { waiters[key] = nil }
        return true
    }

    func firstWaiter(_ key: String) -> Int64? { waiters[key]?.min() }
    func isWaiter(_ key: String, _ turn: Int64) -> Bool { waiters[key]?.contains(turn) ?? false }
    func waiters(_ key: String, before turn: Int64) -> Int { waiters[key]?.count { $0 < turn } ?? 0 }
    func waiters(_ key: String, after first: Int64, before turn: Int64, limit: Int) -> [Int64] {
        Array(waiters[key, default: []].filter { $0 > first && $0 < turn }.sorted().prefix(limit))
    }
    func waiter(_ key: String, nearestBefore turn: Int64) -> Int64? { waiters[key]?.filter { $0 < turn }.max() }

    func openByKey() -> [String: Int] {
        var counts: [String: Int] = [:]
        for row in rows.values where !row.command.status.isEnd || row.holdsKey {
            if let key = row.key, !isWaiter(key, row.command.turn) { counts[key, default: 0] += 1 }
        }
        return counts
    }

    func keysWithoutLane() -> [String] { waiters.keys.filter { lanes[$0] == nil }.sorted() }

    func blockedHolders() -> [Int64] {
        rows.values.filter { row in
            row.command.status == .blocked && row.key.map { !isWaiter($0, row.command.turn) } ?? false
        }.map(\.command.turn).sorted()
    }
}

/// The rows of messages to other shards, and of what waits for them.
extension MemoryShard {
    func command(_ id: CommandID) -> StoredCommand? { rows[id] }
    mutating func saveRelations(_ command: StoredCommand) {
        guard var row = rows[command.id] else { return }
        row.relations = command.relations
        store(row)
    }

    func remoteDependencies(of child: Int64) -> [RemoteDependencyRow] {
        messages.dependencies[child, default: [:]].values.sorted { $0.parent < $1.parent }
    }
    func remoteDependency(of child: Int64, on parent: CommandID) -> RemoteDependencyRow? {
        messages.dependencies[child]?[parent]
    }
    mutating func save(_ dependency: RemoteDependencyRow) {
        messages.dependencies[dependency.child, default: [:]][dependency.parent] = dependency
    }

    func remoteDependants(of parent: Int64, after number: Int64, limit: Int) -> [RemoteDependantRow] {
        Array(messages.dependants.filter { $0.parent == parent && $0.number > number }.prefix(limit))
    }
    mutating func add(_ dependant: RemoteDependantRow) -> Int64 {
        let known = messages.dependants.first { $0.parent == dependant.parent && $0.child == dependant.child }
        if let known { return known.number }
        messages.lastNumber += 1
        var row = dependant
        row.number = messages.lastNumber
        messages.dependants.append(row)
        return row.number
    }
    mutating func remove(_ dependant: RemoteDependantRow) {
        messages.dependants.removeAll { $0.number == dependant.number }
    }

    mutating func post(_ message: ShardMessage) {
        messages.lastNumber += 1
        var message = message
        message.number = messages.lastNumber
        messages.outbox.append(message)
    }

    func part(of batch: CommandID) -> BatchPart? { messages.parts.first { $0.batch == batch } }
    func part(_ number: Int64) -> BatchPart? { messages.parts.first { $0.number == number } }
    func parts(after number: Int64, limit: Int) -> [BatchPart] {
        Array(messages.parts.filter { $0.number > number }.prefix(limit))
    }
    mutating func save(_ part: BatchPart) {
        if let index = messages.parts.firstIndex(where: { $0.batch == part.batch }) {
            messages.parts[index] = part
        } else {
            messages.lastNumber += 1
            var part = part
            part.number = messages.lastNumber
            messages.parts.append(part)
        }
    }
    func members(of batch: CommandID, after turn: Int64, limit: Int) -> [Int64] {
        let turns = rows.values.filter { $0.batch == batch && $0.command.turn > turn }.map(\.command.turn)
        return Array(turns.sorted().prefix(limit))
    }

    mutating func remove(_ received: [ShardMessage]) {
        for message in received {
            messages.outbox.removeAll { $0.number == message.number }
            // Its members may have been retried since.
            if case .partEnded = message.content {
                messages.parts.removeAll { $0.batch == message.receiver && $0.state == .ended }
            }
        }
    }

    mutating func insert(_ layout: BatchLayout) {
        for member in layout.members {
            nodes[member.node.turn] = member.node
            for dependency in member.dependencies { save(dependency) }
        }
        flows[layout.counts.turn] = layout.counts
        for part in layout.parts { save(part) }
        transaction { shard in
            for member in layout.members { shard.insert(member.row, payload: member.payload) }
        }
    }
}

/// The tables of messages of one shard.
struct MemoryMessages {
    /// By child.
    var dependencies: [Int64: [CommandID: RemoteDependencyRow]] = [:]
    /// By number.
    var dependants: [RemoteDependantRow] = []
    /// By number.
    var outbox: [ShardMessage] = []
    /// By number.
    var parts: [BatchPart] = []
    var lastNumber: Int64 = 0
}
