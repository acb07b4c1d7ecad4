import Commands
import Store
import TestSupport
import Testing

@Suite(.postgreSQLServer) struct OrderingKeyConformance {
    @Test(arguments: StoreKind.current)
    func `a flow that raises the limit of its key starts at once`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let first = try rig.subject.submit(.noop.with { $0.orderingKey = "k" })
        let second = try rig.subject.submit(.noop.with { $0.orderingKey = "k" })
        try rig.submit("a", "b < a") {
            $0.orderingKey = "k"
            $0.keyLimit = 3
        }
        #expect(try [first, second].map { try rig.subject.status($0) } == [.new, .new])
        #expect(try rig.status("a") == .new && rig.status("b") == .blocked)
        try rig.succeed("a", "b")
        #expect(try rig.flowStatus() == .success)
        try rig.check()
    }

    /// Commands with one key, each of which a test ends.
    private struct Rig {
        let subject: StoreUnderTest
        var store: any CommandStore { subject.store }

        init(_ kind: StoreKind) throws {
            subject = try StoreUnderTest(kind)
            try subject.open()
        }

        func submit(_ count: Int = 1, key: String = "customer-7", limit: Int? = nil) throws -> [CommandID] {
            try subject.submit(
                Array(
                    repeating: CommandDraft.noop.with {
                        $0.orderingKey = key
                        $0.keyLimit = limit
                    }, count: count))
        }

        func status(_ id: CommandID) throws -> CommandStatus? { try store.command(id)?.status }

        @discardableResult
        func end(_ id: CommandID, _ result: ExecutionResult = .success(result: nil)) throws -> Effects {
            let claim = try #require(try subject.claim(id))
            return try store.apply(
                [.end(id, claim: claim, result)], shard: id.shard(of: store.shardCount), seat: StoreUnderTest.seat,
                epoch: StoreUnderTest.epoch, now: .base + .seconds(2), timeout: .seconds(1)
            ).effects
        }

        func check() throws {
            for shard in 0..<store.shardCount { #expect(try store.relationProblems(shard: shard).isEmpty) }
            #expect(try subject.countsAreTrue())
        }
    }

    @Test(arguments: StoreKind.current)
    func `commands with one key run one after the other, in the order of their submits`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        let ids = try rig.submit(3) + rig.submit(1)
        let others = try rig.submit(1, key: "customer-8")
        #expect(try ids.map { try rig.status($0) } == [.new, .blocked, .blocked, .blocked])
        #expect(try rig.status(others[0]) == .new)
        #expect(Set(ids.map { $0.shard(of: 4) }).count == 1)
        for (id, next) in zip(ids, ids.dropFirst()) {
            #expect(try rig.end(id).ready.map(\.id) == [next])
            try rig.check()
        }
        #expect(try rig.end(ids[3]).ready.isEmpty)
        // The key is free again.
        #expect(try rig.status(rig.submit(1)[0]) == .new)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a key is held through a backoff and in doubt, and passes when its holder ends`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        var ids = try rig.submit(1) + rig.submit(2)
        try rig.end(ids[0], .failure(CommandFailure(.command, reason: "HTTP 500")))
        #expect(try rig.status(ids[0]) == .error && rig.status(ids[1]) == .blocked)
        let place = try #require(try rig.store.orderingKey(of: ids[2]))
        #expect(place.ahead == 1 && place.open == 1 && place.holder?.id == ids[0] && place.limit == 1)
        #expect(try rig.store.orderingKey(of: ids[0])?.ahead == nil)
        let cancelled = try rig.store.cancel(ids[0], reason: "no", now: .base).effects
        #expect(cancelled.ready.map(\.id) == [ids[1]])
        #expect(try rig.end(ids[1], .failure(CommandFailure(.final, reason: "HTTP 404"))).ready.map(\.id) == [ids[2]])
        try rig.check()
        // One that waits and is cancelled leaves the queue.
        ids += try rig.submit(2)
        _ = try rig.store.cancel(ids[3], reason: "no", now: .base)
        #expect(try rig.end(ids[2]).ready.map(\.id) == [ids[4]])
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a retried command waits for the key again, before those submitted later`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        let ids = try rig.submit(4)
        try rig.end(ids[0], .failure(CommandFailure(.final, reason: "no")))
        _ = try rig.store.retry(ids[0], now: .base)
        #expect(try rig.status(ids[0]) == .blocked)
        #expect(try rig.end(ids[1]).ready.map(\.id) == [ids[0]])
        // A success cannot be retried, and leaves the queue as it is.
        #expect(try rig.store.retry(ids[1], now: .base) == nil)
        #expect(try rig.end(ids[0]).ready.map(\.id) == [ids[2]])
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a limit lets several run at once, and a raised one lets those run that wait`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        let ids = try rig.submit(4, limit: 2)
        #expect(try ids.map { try rig.status($0) } == [.new, .new, .blocked, .blocked])
        #expect(try rig.end(ids[1]).ready.map(\.id) == [ids[2]])
        let more = try rig.submit(1, limit: 4)
        #expect(try rig.status(ids[3]) == .new && rig.status(more[0]) == .new)
        let last = try rig.submit(1, limit: 1)
        #expect(try rig.status(last[0]) == .blocked)
        for id in [ids[0], ids[2], ids[3]] { #expect(try rig.end(id).ready.isEmpty) }
        #expect(try rig.end(more[0]).ready.map(\.id) == last)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a command with a key and a parent holds the key while it waits`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        let parent = try rig.submit(1, key: "a")[0]
        let child = try rig.subject.submit(
            CommandDraft.noop.with {
                $0.dependencies = [Dependency(on: parent)]
                $0.orderingKey = "a"
                $0.keyLimit = 2
            })
        let next = try rig.submit(1, key: "a")[0]
        #expect(try rig.status(child) == .blocked && rig.status(next) == .blocked)
        #expect(Set(try rig.end(parent).ready.map(\.id)) == [child, next])
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `flows with one key run one after the other, and a cancelled one starts nothing`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        var flows: [CommandID] = []
        var nodes: [[CommandID]] = []
        for _ in 0..<3 {
            let submission = try rig.submit("a", "b", "c < a, b") { $0.orderingKey = "nightly" }
            #expect(submission.ready.count == (flows.isEmpty ? 2 : 0))
            flows.append(rig.flow)
            nodes.append(["a", "b", "c"].map { rig[$0] })
        }
        func status(_ id: CommandID) throws -> CommandStatus? { try rig.store.command(id)?.status }
        #expect(try status(nodes[1][0]) == .blocked && rig.store.orderingKey(of: flows[2])?.ahead == 1)
        let effects = try rig.store.cancel(flows[1], reason: "no", now: .base).effects
        #expect(effects.ready.isEmpty)
        try rig.check()
        #expect(try status(flows[1]) == .cancelled)
        var released: [CommandID] = []
        for id in nodes[0] {
            let claim = try #require(try rig.subject.claim(id))
            released += try rig.store.apply(
                [.end(id, claim: claim, .success(result: nil))], shard: 0, seat: StoreUnderTest.seat,
                epoch: StoreUnderTest.epoch, now: .base, timeout: .seconds(1)
            ).effects.ready.map(\.id)
        }
        #expect(try status(flows[0]) == .success)
        #expect(released == [nodes[0][2], nodes[2][0], nodes[2][1]])
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `pruning a command in doubt lets the next one have the key`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        let holder = try rig.subject.submit(
            CommandDraft.noop.with {
                $0.orderingKey = "customer-7"
                $0.idempotent = false
            })
        let next = try rig.submit(1)[0]
        try rig.end(holder, .failure(CommandFailure(.command, reason: "cut", ambiguous: true)))
        #expect(try rig.status(holder) == .inDoubt && rig.status(next) == .blocked)
        let shard = holder.shard(of: 4)
        while try !rig.store.prune(
            shard: shard, before: .base + .seconds(60), statuses: [.inDoubt, .cancelled, .tooManyTimes], limit: 9
        ).isEnd {}
        #expect(try rig.status(next) == .new)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a flow that is cancelled before it has its key runs no finalizer, and runs when it is retried`(
        _ kind: StoreKind
    ) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a") { $0.orderingKey = "k" }
        try rig.submit("b", "last < b:end") { $0.orderingKey = "k" }
        _ = try rig.store.cancel(rig.flow, reason: "no", now: .base)
        try rig.check()
        #expect(try rig.status("last") == .cancelled && rig.flowStatus() == .cancelled)
        _ = try rig.store.retry(rig.flow, now: .base)
        try rig.check()
        #expect(try rig.status("b") == .new)
        try rig.succeed("b", "last")
        #expect(try rig.flowStatus() == .success)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a node of a flow that ended before it had its key runs when it is retried`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a") { $0.orderingKey = "k" }
        try rig.submit("b?") { $0.orderingKey = "k" }
        let node = try #require(rig.ids["b"])
        _ = try rig.store.cancel(node, reason: "no", now: .base)
        #expect(try rig.flowStatus() == .success)
        let effects = try #require(try rig.store.retry(node, now: .base))
        #expect(Set(effects.ready.map(\.id)) == [node])
        try rig.check()
        try rig.succeed("b")
        #expect(try rig.flowStatus() == .success)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a key or limit out of range is refused`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        for (key, limit) in [("", nil), (String(repeating: "k", count: 513), nil), ("k", 0), ("k", 1001)]
            as [(String, Int?)]
        {
            #expect(throws: StoreError.self) { try rig.submit(1, key: key, limit: limit) }
        }
        let noKey = CommandDraft.noop.with { $0.keyLimit = 2 }
        #expect(throws: StoreError.self) { try rig.subject.submit(noKey) }
    }

    @Test(arguments: StoreKind.current, [true, false])
    func `a command given up with “hold” keeps its key until a person retries or cancels it`(
        _ kind: StoreKind, _ isRetried: Bool
    ) throws {
        let rig = try Rig(kind)
        let draft = CommandDraft.noop.with {
            $0.orderingKey = "k"
            $0.keyFailure = .hold
        }
        let (first, next) = (try rig.subject.submit(draft), try rig.subject.submit(draft))
        #expect(try rig.end(first, .failure(CommandFailure(.final, reason: "HTTP 404"))).ready.isEmpty)
        #expect(try rig.status(first) == .tooManyTimes && rig.status(next) == .blocked)
        #expect(try rig.store.orderingKey(of: next)?.holder?.id == first)
        #expect(try rig.store.orderingKey(of: first)?.open == 1)
        try rig.check()
        if isRetried {
            // It runs again before the one that waits, and gives the key up with its success.
            let effects = try #require(try rig.store.retry(first, now: .base + .seconds(3)))
            #expect(effects.ready.map(\.id) == [first])
            try rig.check()
            #expect(try rig.end(first).ready.map(\.id) == [next])
        } else {
            let cancelled = try rig.store.cancel(first, reason: "cancelled by a person", now: .base + .seconds(3))
            #expect(cancelled.effects.ready.map(\.id) == [next])
            #expect(try rig.status(first) == .cancelled)
        }
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `pruning a command that was given up and holds its key lets the next one have it`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        let draft = CommandDraft.noop.with {
            $0.orderingKey = "k"
            $0.keyFailure = .hold
        }
        let (first, next) = (try rig.subject.submit(draft), try rig.subject.submit(draft))
        try rig.end(first, .failure(CommandFailure(.final, reason: "HTTP 404")))
        let shard = first.shard(of: rig.store.shardCount)
        for _ in 0..<3 {
            _ = try rig.store.prune(shard: shard, before: .now, statuses: [.tooManyTimes], limit: 10)
        }
        #expect(try rig.status(next) == .new)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `pruning a child lets its parent keep the ordering key until the parent itself is pruned`(
        _ kind: StoreKind
    ) throws {
        let rig = try Rig(kind)
        let draft = CommandDraft.noop.with {
            $0.orderingKey = "k"
            $0.keyFailure = .hold
        }
        let (parent, next) = (try rig.subject.submit(draft), try rig.subject.submit(draft))
        let child = try rig.subject.submit(.noop.with { $0.dependencies = [Dependency(on: parent, .failure)] })
        try rig.end(parent, .failure(CommandFailure(.final, reason: "HTTP 404")))
        try rig.end(child)
        let shard = parent.shard(of: rig.store.shardCount)
        for _ in 0..<4 {
            _ = try rig.store.prune(shard: shard, before: .now, statuses: [.success, .tooManyTimes], limit: 10)
            try rig.check()
        }
        #expect(try rig.status(child) == nil && rig.status(next) == .new)
    }

    @Test(arguments: StoreKind.current)
    func `a policy for failures of a key without a key is refused`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        #expect(throws: StoreError.self) { try subject.submit(.noop.with { $0.keyFailure = .hold }) }
    }
}
