import Commands
import Store
import TestSupport
import Testing

@Suite(.postgreSQLServer) struct ExecutionConformance {
    @Test(arguments: StoreKind.allCases)
    func `a claim returns the command with its payload`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let id = try subject.submit()
        try subject.open()
        let outcome = try subject.apply(.claim(id, sent: false))
        guard case .claimed(let command, let payload, let checkpoint, let transitions) = outcome else {
            Issue.record("refused")
            return
        }
        #expect(command == (try subject.store.command(id)))
        #expect(command.status == .queued && command.claim == 1 && command.seat == 1)
        #expect(payload == CommandDraft.noop.payload)
        #expect(checkpoint == nil)
        #expect(transitions.map(\.status) == [.queued])
        #expect(transitions[0].seat == 1 && transitions[0].claim == 1)
        #expect(try subject.store.timeline(id).last == transitions[0])
    }

    @Test(arguments: StoreKind.allCases)
    func `a claim by turn takes only the command with that id`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let id = try subject.submit()
        try subject.open()
        let turn = try #require(try subject.store.command(id)).turn
        #expect(turn > 0)
        #expect(try subject.apply(.claim(id, turn: turn + 1, sent: false)) == .refused)
        // The row of that turn belongs to another command.
        #expect(
            try subject.apply(.claim(CommandID(shardByte: UInt8(truncatingIfNeeded: id.low)), turn: turn, sent: false))
                == .refused)
        #expect(try subject.status(id) == .new)
        guard case .claimed(let command, _, _, _) = try subject.apply(.claim(id, turn: turn, sent: false)) else {
            Issue.record("refused")
            return
        }
        #expect(command.id == id && command.claim == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `a claim that goes on to sent records both transitions in one commit`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let id = try subject.submit()
        try subject.open()
        #expect(try subject.claim(id) == 1)
        #expect(try subject.statuses(id) == [.new, .queued, .sent])
        let end = try subject.apply(.end(id, claim: 1, .success(result: Array("[7]".utf8))))
        guard case .done(let transitions, let retries) = end else {
            Issue.record("\(end)")
            return
        }
        #expect(transitions.map(\.status) == [.success] && retries == 0)
        #expect(transitions[0].seat == 1 && transitions[0].claim == 1)
        #expect(try subject.statuses(id) == [.new, .queued, .sent, .success])
        #expect(try subject.store.result(id) == Array("[7]".utf8))
        #expect(try subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.allCases)
    func `a claim without a session, or after its end, is refused`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let id = try subject.submit()
        #expect(try subject.claim(id) == nil)
        try subject.open()
        #expect(try subject.claim(id, epoch: 99) == nil)
        try subject.store.close(seat: StoreUnderTest.seat, epoch: StoreUnderTest.epoch)
        #expect(try subject.store.sessions().isEmpty)
        #expect(try subject.claim(id) == nil)
        #expect(try subject.status(id) == .new)
    }

    @Test(arguments: StoreKind.allCases)
    func `a session stays as long as it has a claimed command`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let id = try subject.make(.sent)
        try subject.store.close(seat: StoreUnderTest.seat, epoch: StoreUnderTest.epoch)
        #expect(try subject.store.sessions().count == 1)
        try subject.apply(.end(id, claim: 1, .success(result: nil)))
        try subject.store.close(seat: StoreUnderTest.seat, epoch: StoreUnderTest.epoch)
        #expect(try subject.store.sessions().isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `only the first of two claims gets the command`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let id = try subject.submit()
        try subject.open()
        try subject.open(seat: 2, epoch: 5)
        #expect(try subject.claim(id) == 1)
        #expect(try subject.claim(id, seat: 2, epoch: 5) == nil)
        let writes: [ExecutionWrite] = [.claim(id, sent: true), .claim(id, sent: true)]
        let shard = id.shard(of: subject.store.shardCount)
        let outcomes = try subject.store.apply(writes, shard: shard, seat: 2, epoch: 5, now: .base)
        #expect(Array(outcomes) == [.refused, .refused])
    }

    @Test(arguments: StoreKind.allCases)
    func `an execution that was replaced changes nothing`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let id = try subject.submit()
        try subject.open()
        try subject.claim(id)
        try subject.apply(.end(id, claim: 1, .released(reason: "preempted", ambiguous: false)))
        #expect(try subject.claim(id, sent: false) == 2)
        let late: [ExecutionWrite] = [
            .sent(id, claim: 1), .offset(id, claim: 1, offset: 5, total: 9), .end(id, claim: 1, .success(result: [1])),
            .saveCheckpoint(id, claim: 1, state: [1]),
            .end(id, claim: 1, .failure(CommandFailure(.command, reason: "late"))),
            .end(id, claim: 3, .success(result: nil)),
        ]
        let before = try subject.store.command(id)
        for write in late { #expect(try subject.apply(write) == .replaced) }
        #expect(try subject.store.command(id) == before)
        #expect(try subject.store.result(id) == nil)
        // An execution that never moved to sent cannot succeed.
        #expect(try subject.apply(.end(id, claim: 2, .success(result: nil))) == .replaced)
        #expect(try subject.status(id) == .queued)
    }

    @Test(arguments: StoreKind.allCases)
    func `a checkpoint of an execution is there for the next one`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let id = try subject.submit()
        try subject.open()
        func checkpoint(epoch: Int64 = StoreUnderTest.epoch, turn: Int64 = 0) throws -> [UInt8]? {
            guard
                case .claimed(_, let payload, let checkpoint, _) = try subject.apply(
                    .claim(id, turn: turn, sent: true), epoch: epoch)
            else { throw Missed("the claim was refused") }
            #expect(payload == CommandDraft.noop.payload)
            return checkpoint
        }
        #expect(try checkpoint() == nil)
        #expect(try subject.apply(.saveCheckpoint(id, claim: 1, state: [7])) == .done([], retries: 0))
        #expect(try subject.apply(.saveCheckpoint(id, claim: 1, state: [7, 8])) == .done([], retries: 0))
        #expect(try subject.status(id) == .sent)
        #expect(try subject.store.payload(id) == CommandDraft.noop.payload)
        // The worker died, and another one has claimed the command.
        try subject.store.reap(
            seat: StoreUnderTest.seat, epoch: StoreUnderTest.epoch, charges: false, started: nil, reason: "killed",
            now: .base, released: { _ in })
        try subject.open(epoch: 9)
        #expect(try checkpoint(epoch: 9, turn: try #require(try subject.store.command(id)).turn) == [7, 8])
        // A late write of the dead worker is refused.
        #expect(try subject.apply(.saveCheckpoint(id, claim: 1, state: [6])) == .replaced)
        #expect(try subject.apply(.saveCheckpoint(id, claim: 2, state: []), epoch: 9) == .done([], retries: 0))
        try subject.apply(.end(id, claim: 2, .failure(CommandFailure(.final, reason: "no such thing"))), epoch: 9)
        #expect(try subject.apply(.saveCheckpoint(id, claim: 2, state: [6]), epoch: 9) == .replaced)
        // A retry by a person keeps the checkpoint as well.
        _ = try subject.store.retry(id, now: .base)
        #expect(try checkpoint(epoch: 9) == [])
        #expect(try subject.apply(.saveCheckpoint(CommandID(), claim: 1, state: [1]), epoch: 9) == .replaced)
    }

    /// With the row as its claim left it, and with a row that was changed since.
    @Test(arguments: StoreKind.allCases)
    func `a batch is applied in order, and a refused write does not affect the others`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let ids = try subject.submit([CommandDraft](repeating: .noop, count: 100))
        try subject.open()
        var writes: [ExecutionWrite] = []
        for id in ids {
            writes.append(.claim(id, sent: false))
            writes.append(.sent(id, claim: 1))
            writes.append(.end(CommandID(), claim: 1, .success(result: nil)))
            writes.append(.end(id, claim: 1, .success(result: nil)))
        }
        let before = try subject.store.lastTransition(shard: 0)
        let outcomes = try subject.store.apply(
            writes, shard: 0, seat: StoreUnderTest.seat, epoch: StoreUnderTest.epoch, now: .base)
        #expect(outcomes.count == 400)
        #expect(outcomes.filter { $0 == .replaced }.count == 100)
        #expect(try subject.store.counts()[.success] == 100)
        let numbers = try subject.store.events(shard: 0, after: before, limit: 1000).events.map(\.transition.seq)
        #expect(numbers.count == 300)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
        #expect(try subject.store.lastTransition(shard: 0) == numbers.last)
        #expect(
            try subject.store.events(shard: 0, after: numbers[289], limit: 5).events.map(\.transition.seq)
                == Array(numbers[290..<295]))
    }

    @Test(arguments: StoreKind.allCases)
    func `claimed commands are listed with their workers`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let queued = try subject.make(.queued)
        let sent = try subject.make(.sent)
        _ = try subject.make(.success)
        let claimed = try subject.store.claimed(shard: 0)
        #expect(claimed.map(\.id) == [queued, sent])
        #expect(claimed.map(\.status) == [.queued, .sent])
        #expect(claimed.allSatisfy { $0.seat == 1 && $0.epoch == StoreUnderTest.epoch && $0.claim == 1 })
        for status in [CommandStatus.queued, .sent] {
            #expect(try subject.store.list(CommandFilter(status: status), after: nil, limit: 9).count == 1)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `random writes obey the table of transitions, and the counts stay correct`(_ kind: StoreKind) throws {
        var random = SeededRandom.announced("random life")
        let subject = try StoreUnderTest(kind, shardCount: 2)
        var now = Timestamp.base
        var epoch: Int64 = 1
        try subject.open(epoch: epoch)
        var ids: [CommandID] = []
        for _ in 0..<600 {
            now = now + .seconds(random.number(in: 0..<40))
            if ids.count < 20 || random.chance(0.1) {
                ids.append(
                    try subject.submit(
                        .noop.with {
                            $0.idempotent = random.chance(0.5)
                            $0.retryLimit = 2
                            $0.deadline = random.chance(0.1) ? now + .seconds(100) : nil
                        }, now: now))
            }
            let id = ids[random.number(in: 0..<ids.count)]
            guard let command = try subject.store.command(id) else { continue }
            switch random.number(in: 0..<12) {
            case 0, 1, 2: try subject.claim(id, sent: random.chance(0.5), epoch: epoch, now: now)
            case 3: try subject.apply(.sent(id, claim: command.claim), epoch: epoch, now: now)
            case 4: try subject.apply(.end(id, claim: command.claim, .success(result: nil)), epoch: epoch, now: now)
            case 5:
                let fault = CommandFailure.Fault(rawValue: random.number(in: 0..<4)) ?? .link
                let failure = CommandFailure(fault, reason: "chance", ambiguous: random.chance(0.3))
                try subject.apply(.end(id, claim: command.claim, .failure(failure)), epoch: epoch, now: now)
            case 6:
                let ending = ExecutionResult.released(reason: "chance", ambiguous: random.chance(0.3))
                try subject.apply(.end(id, claim: command.claim, ending), epoch: epoch, now: now)
            case 7: _ = try subject.store.cancel(id, reason: "chance", now: now)
            case 8: _ = try subject.store.retry(id, now: now)
            case 9:
                let status: CommandStatus = [.new, .success, .cancelled][random.number(in: 0..<3)]
                _ = try subject.store.resolve(id, as: status, now: now)
            case 10:
                for shard in 0..<2 {
                    _ = try subject.store.promoteDue(shard: shard, now: now, limit: 100)
                    _ = try subject.store.expire(shard: shard, now: now, limit: 100)
                }
            default:
                if random.chance(0.2) {
                    try subject.store.reap(
                        seat: StoreUnderTest.seat, epoch: epoch, charges: random.chance(0.7), started: nil,
                        reason: "died",
                        now: now
                    ) { _ in }
                    epoch += 1
                    try subject.open(epoch: epoch)
                }
            }
        }
        for id in ids {
            let statuses = try subject.statuses(id)
            #expect(statuses.first == .new)
            for (before, after) in zip(statuses, statuses.dropFirst()) {
                #expect(before.mayBecome(after), "\(before) became \(after)")
            }
            #expect(statuses.last == (try subject.status(id)))
        }
        #expect(try subject.countsAreTrue())
        let claimed = try (0..<2).flatMap { try subject.store.claimed(shard: $0) }
        #expect(claimed.allSatisfy { $0.epoch == epoch })
    }
}
