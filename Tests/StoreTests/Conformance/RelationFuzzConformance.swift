import Commands
import Store
import TestSupport
import Testing

/// Random flows and random steps: after every settlement the stored numbers are those of the rows, and no command has run
/// before what it waits for.
@Suite(.postgreSQLServer) struct RelationFuzzConformance {
    @Test(arguments: StoreKind.current)
    func `random flows keep their numbers right, whatever ends in which order`(_ kind: StoreKind) throws {
        var random = SeededRandom.announced("relations")
        for _ in RandomRounds("relations", 5...30, within: .seconds(3)) { try Self.round(kind, &random) }
    }

    private static func round(_ kind: StoreKind, _ random: inout SeededRandom) throws {
        let rig = try FlowRig(kind)
        let epoch = try begin(rig, &random)
        try end(rig, epoch, &random)
    }

    /// Submits random flows and commands, and takes random steps.
    /// - Returns: the epoch of the worker, which may have claimed commands.
    static func begin(_ rig: FlowRig, _ random: inout SeededRandom) throws -> Int64 {
        for _ in 0..<random.number(in: 1..<4) { try rig.submit(flow(&random)) }
        for _ in 0..<random.number(in: 0..<10) {
            let all = try rig.all()
            let parents = (0..<random.number(in: 1..<3)).map { _ in all[random.number(in: 0..<all.count)].id }
            let draft = CommandDraft.noop.with { draft in
                if random.chance(0.7) {
                    draft.dependencies = Set(parents).map { Dependency(on: $0, condition(&random)) }
                }
                (draft.orderingKey, draft.keyLimit) = key(&random)
            }
            _ = rig.store.submit([draft], allowUnknownTypes: false, now: .base)
        }
        var epoch = StoreUnderTest.epoch
        for _ in 0..<random.number(in: 20..<200) {
            try step(rig, &epoch, &random)
            if random.chance(0.5) {
                _ = try rig.store.settle(shard: 0, now: .base, limit: random.number(in: 1..<5))
            }
            let problems = try rig.store.relationProblems(shard: 0)
            guard problems.isEmpty else { throw Missed("\(problems)") }
        }
        return epoch
    }

    /// Ends the remaining commands, and prunes them.
    static func end(_ rig: FlowRig, _ epoch: Int64, _ random: inout SeededRandom) throws {
        try rig.check(limit: random.number(in: 1..<100))
        for _ in 0..<300 {
            let open = try rig.all().filter { $0.status == .new || $0.status == .error || $0.status.isClaimed }
            if open.isEmpty { break }
            for command in open {
                // After the end of every backoff.
                try end(rig, command, epoch, .success(result: nil), now: .base + .seconds(100_000))
            }
            try rig.check()
        }
        for command in try rig.all() where command.status == .inDoubt {
            _ = try rig.store.resolve(command.id, as: .cancelled, now: .base)
        }
        try rig.check()
        let blocked = try rig.all().filter { $0.status == .blocked }
        // The resolved ones may have released others.
        let ready = try rig.all().contains { $0.status == .new }
        #expect(blocked.isEmpty || ready, "\(blocked.map(\.id)) wait for nothing")
        try checkOrder(rig)
        let finals: Set<CommandStatus> = [.success, .cancelled, .tooManyTimes]
        var batches = 0
        while try !rig.store.prune(shard: 0, before: .base + .seconds(200_000), statuses: finals, limit: 7).isEnd {
            batches += 1
            guard batches < 1000 else { throw Missed("batch after batch finds the same commands") }
        }
        let problems = try rig.store.relationProblems(shard: 0)
        guard problems.isEmpty else { throw Missed("after pruning: \(problems)") }
        #expect(try rig.subject.countsAreTrue())
    }

    /// Few keys, so that commands meet.
    private static func key(_ random: inout SeededRandom) -> (String?, limit: Int?) {
        guard random.chance(0.6) else { return (nil, nil) }
        return ("key \(random.number(in: 0..<2))", random.chance(0.3) ? random.number(in: 1..<4) : nil)
    }

    private static func condition(_ random: inout SeededRandom) -> DependencyCondition {
        [.success, .success, .failure, .end][random.number(in: 0..<4)]
    }

    private static func flow(_ random: inout SeededRandom) -> FlowDraft {
        let count = random.number(in: 0..<12)
        let nodes = (0..<count).map { number in
            var after: [String: DependencyCondition] = [:]
            if number > 0 {
                for _ in 0..<random.number(in: 0..<4) {
                    after["n\(random.number(in: 0..<number))"] = condition(&random)
                }
            }
            let draft = CommandDraft.noop.with { $0.idempotent = random.chance(0.7) }
            return FlowNode("n\(number)", draft, after: after, mayFail: random.chance(0.15))
        }
        var draft = FlowDraft("random", nodes: nodes)
        draft.stopsOnFailure = random.chance(0.25)
        (draft.orderingKey, draft.keyLimit) = key(&random)
        for condition in DependencyCondition.allCases where random.chance(0.4) {
            draft.callbacks.append(.init(on: condition, .noop))
        }
        return draft
    }

    private static func end(
        _ rig: FlowRig, _ command: Command, _ epoch: Int64, _ result: ExecutionResult,
        now: Timestamp = .base + .seconds(5000)
    ) throws {
        var claim = command.claim
        if !command.status.isClaimed {
            guard let made = try rig.subject.claim(command.id, epoch: epoch, now: now) else { return }
            claim = made
        }
        if command.status == .queued { try rig.subject.apply(.sent(command.id, claim: claim), epoch: epoch, now: now) }
        try rig.subject.apply(.end(command.id, claim: claim, result), epoch: epoch, now: now)
    }

    static func step(_ rig: FlowRig, _ epoch: inout Int64, _ random: inout SeededRandom) throws {
        let all = try rig.all()
        guard !all.isEmpty else { return }
        let command = all[random.number(in: 0..<all.count)]
        switch random.number(in: 0..<12) {
        case 0...1: try rig.subject.claim(command.id, epoch: epoch, now: .base + .seconds(5000))
        case 2...5:
            if command.status == .new || command.status.isClaimed {
                try end(rig, command, epoch, .success(result: nil))
            }
        case 6...7:
            let failure = CommandFailure(
                random.chance(0.6) ? .final : .command, reason: "no", ambiguous: random.chance(0.3))
            if command.status == .new || command.status.isClaimed { try end(rig, command, epoch, .failure(failure)) }
        case 8: _ = try rig.store.cancel(command.id, reason: "chance", now: .base)
        case 9:
            do throws(StoreError) { _ = try rig.store.retry(command.id, now: .base) } catch {
                #expect(error.code == .conflict)
            }
        case 10:
            let status: CommandStatus = [.success, .new, .cancelled][random.number(in: 0..<3)]
            _ = try rig.store.resolve(command.id, as: status, now: .base)
        default:
            guard random.chance(0.3) else { return }
            try rig.store.reap(
                seat: StoreUnderTest.seat, epoch: epoch, charges: random.chance(0.5), started: nil, reason: "died",
                now: .base
            ) { _ in }
            epoch += 1
            try rig.subject.open(epoch: epoch)
        }
    }

    /// From the audit trail: no command is claimed before a parent has satisfied it.
    private static func checkOrder(_ rig: FlowRig) throws {
        var blocked: Set<CommandID> = []
        for event in try rig.store.events(shard: 0, after: 0, limit: .max).events {
            let id = event.transition.id
            switch event.transition.status {
            case .blocked: blocked.insert(id)
            case .new, .cancelled, .success, .tooManyTimes: blocked.remove(id)
            case .queued, .sent: #expect(!blocked.contains(id), "\(id) ran while it was blocked")
            case .error, .inDoubt: break
            }
        }
    }
}
