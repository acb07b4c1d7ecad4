import Commands
import Store
import TestSupport
import Testing

/// A store of four shards, with helpers for what crosses them.
struct ShardRig {
    static let shardCount = 4
    let subject: StoreUnderTest
    var store: any CommandStore { subject.store }

    init(_ kind: StoreKind) throws {
        subject = try StoreUnderTest(kind, shardCount: Self.shardCount)
        try subject.open()
    }

    /// - Parameter subject: has four shards.
    init(_ subject: StoreUnderTest) { self.subject = subject }

    /// A draft whose unique key puts it into a shard.
    func draft(in shard: Int, _ change: (inout CommandDraft) -> Void = { _ in }) throws -> CommandDraft {
        for number in 0... {
            let draft = CommandDraft.noop.with { $0.uniqueKey = "key \(number) \(CommandID())" }
            if store.router.shard(of: draft) == shard { return draft.with(change) }
        }
        throw Missed("no key leads to shard \(shard)")
    }

    /// Submits a command to a shard.
    func submit(to shard: Int, after parents: [Dependency] = []) throws -> CommandID {
        let id = try subject.submit(draft(in: shard) { $0.dependencies = parents })
        #expect(id.shard(of: Self.shardCount) == shard)
        return id
    }

    /// Carries all messages, until no shard has one.
    @discardableResult
    func carry(except locked: Set<Int> = []) throws -> Effects {
        var effects = Effects()
        for _ in 0..<10 {
            for shard in 0..<Self.shardCount {
                let round = try store.carryMessages(from: shard, except: locked, now: .base + .seconds(1))
                if let problem = round.problem { throw problem }
                effects.append(round.effects)
                while try store.settle(shard: shard, now: .base, limit: 100).hasMore {}
            }
            if try messages().isEmpty { break }
        }
        return effects
    }

    func messages() throws -> [ShardMessage] {
        try (0..<Self.shardCount).flatMap { try store.outbox(shard: $0, after: 0, limit: 1000) }
    }

    func end(_ id: CommandID, _ result: ExecutionResult = .success(result: nil)) throws {
        guard let claim = try subject.claim(id) else { throw Missed("\(id) cannot be claimed") }
        try subject.apply(.end(id, claim: claim, result))
    }

    static let failure = ExecutionResult.failure(CommandFailure(.final, reason: "HTTP 404"))

    func check() throws {
        for shard in 0..<Self.shardCount {
            let problems = try store.relationProblems(shard: shard)
            guard problems.isEmpty else { throw Missed("shard \(shard): \(problems)") }
        }
        #expect(try subject.countsAreTrue())
    }
}
