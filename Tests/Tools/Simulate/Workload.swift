internal import Commands
internal import Host
internal import Store

/// The producers and the people of a run: they submit, cancel, retry, resolve, and give up batches.
struct Workload {
    private let plan: Plan
    private let store: MemoryStore
    private let ledger: Ledger
    private var random: RandomStream
    private var openBatches: [CommandID] = []
    private var numberOfKeys = 0

    private static let destinations: [Destination] = [
        .none, Destination(scheme: "https", host: "one.example", port: 443),
        Destination(scheme: "https", host: "two.example", port: 443),
    ]

    init(_ plan: Plan, _ store: MemoryStore, _ ledger: Ledger) {
        self.plan = plan
        self.store = store
        self.ledger = ledger
        random = RandomStream(seed: plan.seed, stream: 9)
    }

    /// When each submit happens, after the start.
    mutating func times() -> [Duration] {
        let count = max(plan.commands / 3, 1)
        return (0..<count).map { _ in random.time(upTo: plan.faultTime) }.sorted()
    }

    // MARK: Producers

    /// About three commands.
    mutating func submit() {
        let now = store.clock.now()
        if plan.features.contains(.flows), random.chance(0.2) { return submitFlow(now) }
        if plan.features.contains(.batches), random.chance(0.2) { return openBatch(now) }
        let drafts = (0..<random.number(1...5)).map { _ in draft(now) }
        for (draft, result) in zip(drafts, store.submit(drafts, allowUnknownTypes: false)) {
            accept(result.map(\.id))
            guard draft.uniqueKey != nil, case .success(let first) = result, random.chance(0.5) else { continue }
            // The answer was lost, and the producer repeats the submit.
            let again = store.submit([draft], allowUnknownTypes: false)[0]
            guard case .success(let second) = again, second.id != first.id else { continue }
            ledger.require(
                Violation(oracle: "O2", id: first.id, words: "a second submit of its unique key made \(second.id)"))
        }
    }

    private func accept(_ result: Result<CommandID, StoreError>) {
        switch result {
        case .success(let id): ledger.acknowledged(id)
        case .failure(let error):
            ledger.count(error.code == .conflict ? "conflicts" : "refused submits")
        }
    }

    private mutating func draft(_ now: Timestamp, isPart: Bool = false) -> CommandDraft {
        let type = random.chance(0.3) ? ScriptedOperation.prepared : ScriptedOperation.plain
        var draft = CommandDraft(
            type: type, payload: Array("{}".utf8), destination: random.pick(Self.destinations) ?? .none,
            qos: random.pick(QualityOfService.allCases) ?? .default, idempotent: random.chance(0.6))
        draft.retryLimit = random.number(0...5)
        if plan.features.contains(.delays), random.chance(0.2) {
            draft.notBefore = now + random.time(upTo: .seconds(120))
        }
        if plan.features.contains(.deadlines), random.chance(0.2) {
            draft.deadline = max(draft.notBefore, now) + .milliseconds(1) + random.time(upTo: .seconds(120))
        }
        if isPart { return draft }
        if plan.features.contains(.dependencies), random.chance(0.4), !ledger.acknowledged.isEmpty {
            // The newest have seldom ended.
            let known = Array(ledger.acknowledged.suffix(random.chance(0.8) ? 8 : 1000))
            let parents = Set((0..<random.number(1...3)).compactMap { _ in random.pick(known) }).sorted()
            draft.dependencies = parents.map {
                Dependency(on: $0, random.pick(DependencyCondition.allCases) ?? .success)
            }
        }
        if plan.features.contains(.orderingKeys), random.chance(0.4) {
            draft.orderingKey = "key-\(random.number(1...3))"
            draft.keyLimit = random.chance(0.3) ? random.number(1...3) : nil
            draft.keyFailure = random.chance(0.3) ? .hold : .pass
        }
        if plan.features.contains(.uniqueKeys), random.chance(0.3) {
            draft.uniqueKey = "unique-\(random.number(1...10))"
            draft.uniqueFor = random.pick([.kept, .running, .duration(.seconds(60))]) ?? .kept
        }
        // A member must not wait for a command that may wait for its batch, in its lane or as a parent: that never ends.
        let isFree = draft.dependencies.isEmpty && draft.orderingKey == nil
        if let batch = random.pick(openBatches), random.chance(0.5), isFree { draft.batch = batch }
        return draft
    }

    private mutating func submitFlow(_ now: Timestamp) {
        let count = random.number(1...6)
        let nodes = (0..<count).map { index in
            let parents = (0..<index).filter { _ in random.chance(0.4) }
            var after: [String: DependencyCondition] = [:]
            for parent in parents { after["n\(parent)"] = random.pick(DependencyCondition.allCases) }
            return FlowNode("n\(index)", draft(now, isPart: true), after: after, mayFail: random.chance(0.2))
        }
        var flow = FlowDraft("flow", nodes: nodes)
        flow.stopsOnFailure = random.chance(0.3)
        if random.chance(0.4) { flow.callbacks = [.init(on: .end, draft(now, isPart: true))] }
        if plan.features.contains(.deadlines), random.chance(0.2) {
            flow.deadline = now + .seconds(300) + random.time(upTo: .seconds(300))
        }
        if plan.features.contains(.orderingKeys), random.chance(0.3) {
            flow.orderingKey = "key-\(random.number(1...3))"
        }
        guard let flowPlan = try? FlowPlan(flow) else { return ledger.count("refused submits") }
        do throws(StoreError) {
            ledger.acknowledged(try store.submit(flowPlan, allowUnknownTypes: false).submission.id)
            ledger.count("flows")
        } catch {
            ledger.count("refused submits")
        }
    }

    private mutating func openBatch(_ now: Timestamp) {
        var batch = BatchDraft("batch")
        if random.chance(0.4) { batch.callbacks = [.init(on: .end, draft(now, isPart: true))] }
        do throws(StoreError) {
            let id = try store.open(batch, allowUnknownTypes: false)
            ledger.acknowledged(id)
            openBatches.append(id)
            ledger.count("batches")
        } catch {
            ledger.count("refused submits")
        }
        if openBatches.count > 2 { seal(openBatches.removeFirst()) }
    }

    private func seal(_ batch: CommandID) { try? store.seal(batch) }

    /// The producers have submitted everything, and a person retries a half of what has failed.
    mutating func finish() -> Effects {
        for batch in openBatches { seal(batch) }
        openBatches = []
        var effects = Effects()
        guard plan.rate(.retry) > 0 else { return effects }
        for row in store.allCommands() where row.status == .cancelled || row.status == .tooManyTimes {
            if random.chance(0.5), let made = retry(row.id) { effects.append(made) }
        }
        return effects
    }

    // MARK: People

    /// - Returns: the effects, nil where nothing has changed.
    mutating func cancel() -> Effects? {
        guard let id = pick([.new, .blocked, .queued, .sent, .error, .inDoubt]) else { return nil }
        ledger.count("cancellations")
        return (try? store.cancel(id, reason: "cancelled by a person"))?.effects
    }

    mutating func retry() -> Effects? {
        guard let id = pick([.cancelled, .tooManyTimes, .error, .inDoubt]) else { return nil }
        return retry(id)
    }

    private mutating func retry(_ id: CommandID) -> Effects? {
        guard let row = store.command(id) else { return nil }
        if row.status == .inDoubt { return resolve(id) }
        let effects =
            row.type == CommandType.batch
            ? try? store.retryMembers(of: id, by: "a person").effects : try? store.retry(id)
        guard let effects else { return nil }
        ledger.count("retries")
        if effects.events.contains(where: { $0.transition.id != id }) { ledger.count("revivals") }
        return effects
    }

    mutating func requalify() {
        let qos = random.pick(QualityOfService.allCases) ?? .default
        guard let id = random.pick(ledger.acknowledged) else { return }
        _ = try? store.requalify(id, qos: qos)
    }

    /// A command with one of these statuses, where there is one; now and then any other.
    private mutating func pick(_ statuses: Set<CommandStatus>) -> CommandID? {
        let all = store.allCommands()
        let likely = all.filter { statuses.contains($0.status) }
        return random.pick(likely.isEmpty || random.chance(0.1) ? all : likely)?.id
    }

    private mutating func resolve(_ id: CommandID) -> Effects? {
        ledger.count("resolved")
        return try? store.resolve(id, as: random.pick([.success, .new, .cancelled]) ?? .new)
    }

    /// Settles commands that wait for a person: those in doubt, and those that hold their ordering key.
    mutating func settleAll() -> Effects {
        var effects = Effects()
        for row in store.allCommands() {
            if row.status == .inDoubt, let made = resolve(row.id) { effects.append(made) }
            if row.status == .tooManyTimes, row.orderingKey != nil,
                let made = try? store.cancel(row.id, reason: "cancelled by a person")
            {
                effects.append(made.effects)
            }
        }
        return effects
    }

    /// Removes commands that have ended some time ago.
    mutating func prune() {
        let now = store.clock.now()
        let before = Timestamp(milliseconds: now.milliseconds - Int64(random.number(1...60_000)))
        for shard in 0..<store.shardCount {
            _ = try? store.prune(
                shard: shard, before: before, statuses: [.success, .cancelled, .tooManyTimes], limit: 100)
        }
        ledger.pruned(among: ledger.acknowledged)
    }
}
