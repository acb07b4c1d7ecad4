import Commands
import Foundation
import Store
import TestSupport
import Testing

/// The remains of commands that have ended.
@Suite(.postgreSQLServer) struct LeftoverConformance {
    private static let state = Array(#"{"upload":"a"}"#.utf8)
    private static let cleanup = CommandDraft(
        type: "cleanup", payload: Array("{}".utf8), destination: .none, qos: .utility, idempotent: true)

    /// A command that was executed once, saved a checkpoint, and waits.
    private func waiting(_ subject: StoreUnderTest, checkpoint: [UInt8]? = state) throws -> CommandID {
        try subject.open()
        let id = try subject.submit()
        try subject.claim(id)
        if let checkpoint { try subject.apply(.saveCheckpoint(id, claim: 1, state: checkpoint)) }
        try subject.apply(.end(id, claim: 1, .released(reason: "preempted", ambiguous: false)))
        return id
    }

    private func cleanUp(
        _ subject: StoreUnderTest, at now: Timestamp = .base + .seconds(60), by draft: CommandDraft? = cleanup
    ) throws -> [Leftover] {
        var found: [Leftover] = []
        for shard in 0..<subject.store.shardCount {
            while try subject.store.cleanUp(
                shard: shard, now: now, limit: 2,
                {
                    found.append($0)
                    return draft
                }) > 0
            {}
        }
        return found
    }

    private func cleanups(_ subject: StoreUnderTest) throws -> [Command] {
        try subject.store.list(CommandFilter(), after: nil, limit: 1000).filter { $0.type == "cleanup" }
    }

    @Test(arguments: StoreKind.current)
    func `a command that is cancelled while it waits leaves its checkpoint to one cleanup`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let ids = try (0..<5).map { _ in try waiting(subject) }
        #expect(try cleanUp(subject).isEmpty)
        for id in ids { _ = try subject.store.cancel(id, reason: "not wanted", now: .base + .seconds(2)) }
        let found = try cleanUp(subject)
        #expect(found.map(\.command.id).sorted() == ids.sorted())
        #expect(found.allSatisfy { $0.checkpoint == Self.state && $0.payload == CommandDraft.noop.payload })
        #expect(found.allSatisfy { $0.command.status == .cancelled && $0.command.claim == 1 })
        let made = try cleanups(subject)
        #expect(made.count == 5 && made.allSatisfy { $0.status == .new && $0.qos == .utility })
        let count = subject.store.shardCount
        #expect(made.map { $0.id.shard(of: count) }.sorted() == ids.map { $0.shard(of: count) }.sorted())
        #expect(try cleanUp(subject).isEmpty && subject.countsAreTrue())
        // A person's retry begins anew.
        _ = try subject.store.retry(ids[0], now: .base + .seconds(70))
        guard case .claimed(let command, _, let checkpoint, _) = try subject.apply(.claim(ids[0], sent: true)) else {
            Issue.record("the retried command was not claimed")
            return
        }
        #expect(command.claim == 2 && checkpoint == nil)
    }

    @Test(arguments: StoreKind.current)
    func `a command without a checkpoint, and one that succeeds, leave nothing`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        for checkpoint in [nil, []] as [[UInt8]?] {
            let id = try waiting(subject, checkpoint: checkpoint)
            _ = try subject.store.cancel(id, reason: "not wanted", now: .base + .seconds(2))
        }
        let done = try waiting(subject)
        try subject.claim(done)
        try subject.apply(.end(done, claim: 2, .success(result: nil)))
        #expect(try cleanUp(subject).isEmpty)
    }

    @Test(arguments: StoreKind.current)
    func `the checkpoint of a dead letter is kept for a day, and a retry uses it`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let dead = try (0..<2).map { _ in
            let id = try waiting(subject)
            try subject.claim(id)
            try subject.apply(.end(id, claim: 2, .failure(CommandFailure(.final, reason: "no such bucket"))))
            return id
        }
        #expect(try cleanUp(subject, at: .base + .seconds(86_400)).isEmpty)
        _ = try subject.store.retry(dead[0], now: .base + .seconds(86_400))
        #expect(try cleanUp(subject, at: .base + .seconds(86_402)).map(\.command.id) == [dead[1]])
        guard case .claimed(_, _, let checkpoint, _) = try subject.apply(.claim(dead[0], sent: true)) else {
            Issue.record("the retried command was not claimed")
            return
        }
        #expect(checkpoint == Self.state)
    }

    @Test(arguments: StoreKind.current)
    func `a checkpoint that needs no cleanup stays for a retry`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let id = try waiting(subject)
        _ = try subject.store.cancel(id, reason: "not wanted", now: .base + .seconds(2))
        #expect(try cleanUp(subject, by: nil).count == 1)
        #expect(try cleanUp(subject).isEmpty && cleanups(subject).isEmpty)
        _ = try subject.store.retry(id, now: .base + .seconds(70))
        guard case .claimed(_, _, let checkpoint, _) = try subject.apply(.claim(id, sent: true)) else {
            Issue.record("the retried command was not claimed")
            return
        }
        #expect(checkpoint == Self.state)
    }

    @Test(arguments: StoreKind.current)
    func `a command that a person settles as delivered leaves its checkpoint too`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        try subject.open()
        let id = try subject.submit(.noop.with { $0.idempotent = false })
        try subject.claim(id)
        try subject.apply(.saveCheckpoint(id, claim: 1, state: Self.state))
        try subject.apply(.end(id, claim: 1, .failure(CommandFailure(.command, reason: "cut", ambiguous: true))))
        #expect(try cleanUp(subject).isEmpty)
        _ = try subject.store.resolve(id, as: .success, now: .base + .seconds(2))
        #expect(try cleanUp(subject).map(\.command.id) == [id])
    }

    @Test(arguments: StoreKind.current)
    func `a command is pruned only after its remains are taken care of`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let (cancelled, dead) = (try waiting(subject), try waiting(subject))
        let other = try subject.make(.cancelled)
        _ = try subject.store.cancel(cancelled, reason: "not wanted", now: .base + .seconds(2))
        try subject.claim(dead)
        try subject.apply(.end(dead, claim: 2, .failure(CommandFailure(.final, reason: "no such bucket"))))
        let statuses: Set<CommandStatus> = [.success, .cancelled, .tooManyTimes]
        func prune() throws -> PruneResult {
            try subject.store.prune(shard: 0, before: .base + .seconds(60), statuses: statuses, limit: 100)
        }
        let first = try prune()
        #expect(first.count == 1 && first.held == 2)
        #expect(try subject.store.command(other) == nil && subject.status(dead) == .tooManyTimes)
        // The dead letter is due before its day is over.
        #expect(try cleanUp(subject, at: .base + .seconds(61)).count == 2)
        let second = try prune()
        #expect(second.count == 2 && second.held == 0)
        #expect(try prune() == PruneResult())
        #expect(try cleanups(subject).count == 2 && subject.countsAreTrue())
    }
}
