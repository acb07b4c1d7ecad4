import Commands
import Store
import TestSupport
import Testing

/// Commands that wait for others, outside of flows.
@Suite(.postgreSQLServer) struct DependencyConformance {
    private static func child(of parents: CommandID..., when condition: DependencyCondition = .success) -> CommandDraft
    {
        CommandDraft.noop.with { $0.dependencies = parents.map { Dependency(on: $0, condition) } }
    }

    @Test(arguments: StoreKind.current)
    func `a command waits for its parent, and is ready in the commit of the parent's success`(_ kind: StoreKind) throws
    {
        let rig = try FlowRig(kind)
        let parent = try rig.subject.submit()
        let child = try rig.subject.submit(Self.child(of: parent))
        #expect(try rig.subject.status(child) == .blocked)
        #expect(try rig.subject.claim(child) == nil)
        try rig.subject.claim(parent)
        let outcome = try rig.store.apply(
            [.end(parent, claim: 1, .success(result: nil))], shard: 0, seat: StoreUnderTest.seat,
            epoch: StoreUnderTest.epoch, now: .base, timeout: .seconds(1))
        #expect(outcome.effects.events.map(\.transition.id) == [child])
        #expect(outcome.effects.events.map(\.transition.status) == [.new])
        #expect(outcome.effects.ready.map(\.id) == [child])
        #expect(try rig.subject.statuses(child) == [.blocked, .new])
        // A lost message: the mark of a command that became ready out of turn.
        #expect(try rig.store.takeReadyAgain(shard: 0, limit: 10).map(\.id) == [child])
        #expect(try rig.subject.claim(child) != nil)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a child that is submitted while its parent runs is released by the parent's end`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let parent = try rig.subject.submit()
        try rig.subject.claim(parent)
        let child = try rig.subject.submit(Self.child(of: parent))
        try rig.subject.apply(.end(parent, claim: 1, .success(result: nil)))
        #expect(try rig.subject.status(child) == .new)
        try rig.check()
    }

    /// The ends of a parent, and the statuses in which they leave children with each condition.
    static let ends: [(CommandStatus, [DependencyCondition: CommandStatus])] = [
        (.success, [.success: .new, .failure: .cancelled, .end: .new]),
        (.tooManyTimes, [.success: .cancelled, .failure: .new, .end: .new]),
        (.cancelled, [.success: .cancelled, .failure: .new, .end: .new]),
        (.inDoubt, [.success: .blocked, .failure: .blocked, .end: .blocked]),
    ]

    @Test(arguments: StoreKind.current, ends)
    func `the condition decides what the parent's end means`(
        _ kind: StoreKind, _ end: (status: CommandStatus, children: [DependencyCondition: CommandStatus])
    ) throws {
        let rig = try FlowRig(kind)
        let parent = try rig.subject.submit(.noop.with { $0.idempotent = false })
        var children: [DependencyCondition: CommandID] = [:]
        for condition in DependencyCondition.allCases {
            children[condition] = try rig.subject.submit(Self.child(of: parent, when: condition))
        }
        switch end.status {
        case .cancelled: _ = try rig.store.cancel(parent, reason: "no", now: .base)
        case .tooManyTimes:
            try rig.subject.claim(parent)
            try rig.subject.apply(.end(parent, claim: 1, .failure(CommandFailure(.final, reason: "HTTP 404"))))
        case .inDoubt:
            try rig.subject.claim(parent)
            try rig.subject.apply(
                .end(parent, claim: 1, .failure(CommandFailure(.command, reason: "cut", ambiguous: true))))
        default:
            try rig.subject.claim(parent)
            try rig.subject.apply(.end(parent, claim: 1, .success(result: nil)))
        }
        #expect(try rig.subject.status(parent) == end.status)
        for (condition, id) in children {
            #expect(try rig.subject.status(id) == end.children[condition], "\(condition)")
        }
        if end.status == .tooManyTimes {
            let reason = try children[.success].flatMap { try rig.store.command($0)?.reason }
            #expect(reason == "it waited for “\(parent)”, which was given up: HTTP 404")
        }
        try rig.check()
        // A child that comes now is decided at once.
        for condition in DependencyCondition.allCases {
            let result = rig.store.submit(
                [Self.child(of: parent, when: condition)], allowUnknownTypes: false, now: .base)
            switch end.children[condition] {
            case .cancelled: #expect(throws: StoreError.self) { try result[0].get() }
            case let status: #expect(try rig.subject.status(result[0].get().id) == status)
            }
        }
        try rig.check()
        if end.status == .inDoubt {
            _ = try rig.store.resolve(parent, as: .success, now: .base)
            for (condition, id) in children {
                #expect(try rig.subject.status(id) == (condition == .failure ? .cancelled : .new), "\(condition)")
            }
            try rig.check()
        }
    }

    @Test(arguments: StoreKind.current)
    func `parents that end in one commit release their child once`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let parents = try rig.subject.submit([.noop, .noop, .noop])
        let child = try rig.subject.submit(Self.child(of: parents[0], parents[1], parents[2]))
        for parent in parents { try rig.subject.claim(parent) }
        let outcome = try rig.store.apply(
            parents.map { .end($0, claim: 1, .success(result: nil)) }, shard: 0, seat: StoreUnderTest.seat,
            epoch: StoreUnderTest.epoch, now: .base, timeout: .seconds(1))
        #expect(outcome.effects.ready.map(\.id) == [child])
        #expect(try rig.subject.statuses(child) == [.blocked, .new])
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `unknown and double parents are refused, and a command goes to the shard of its first parent`(
        _ kind: StoreKind
    ) throws {
        let subject = try StoreUnderTest(kind, shardCount: 4)
        let ids = try subject.submit([CommandDraft](repeating: .noop, count: 40))
        let first = ids[0]
        func refusal(_ draft: CommandDraft) -> StoreError? {
            #expect(throws: StoreError.self) {
                try subject.store.submit([draft], allowUnknownTypes: false, now: .base)[0].get()
            }
        }
        #expect(refusal(Self.child(of: first, first))?.code == .invalid)
        #expect(refusal(Self.child(of: CommandID()))?.code == .notFound)
        let many = CommandDraft.noop.with { draft in
            draft.dependencies = (0...CommandDraft.maxDependencies).map { _ in Dependency(on: first) }
        }
        #expect(refusal(many)?.message.contains("at most 1000 others") == true)
        #expect(try subject.countsAreTrue())
        // It follows its parent to the shard.
        for id in ids.prefix(8) {
            #expect(try subject.submit(Self.child(of: id)).shard(of: 4) == id.shard(of: 4))
        }
    }

    @Test(arguments: StoreKind.current)
    func `the child of a lost worker's command waits on, and runs after the second execution`(_ kind: StoreKind) throws
    {
        let rig = try FlowRig(kind)
        let parent = try rig.subject.submit()
        let child = try rig.subject.submit(Self.child(of: parent))
        try rig.subject.claim(parent)
        try rig.store.reap(
            seat: StoreUnderTest.seat, epoch: StoreUnderTest.epoch, charges: true, started: nil, reason: "died",
            now: .base
        ) { _ in }
        #expect(try rig.subject.status(child) == .blocked)
        try rig.subject.open(epoch: 2)
        try rig.subject.claim(parent, epoch: 2)
        // The first worker is late: its fence finds nothing, and the child stays.
        let late = try rig.subject.apply(.end(parent, claim: 1, .success(result: nil)))
        #expect(late == .replaced)
        #expect(try rig.subject.status(child) == .blocked)
        try rig.subject.apply(.end(parent, claim: 2, .success(result: nil)), epoch: 2)
        #expect(try rig.subject.status(child) == .new)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a notBefore of the child and its deadline count on after the release`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let parents = try rig.subject.submit([.noop, .noop])
        let later = try rig.subject.submit(Self.child(of: parents[0]).with { $0.notBefore = .base + .seconds(100) })
        let never = try rig.subject.submit(Self.child(of: parents[1]).with { $0.deadline = .base + .seconds(50) })
        let grandchild = try rig.subject.submit(Self.child(of: never, when: .end))
        try rig.subject.claim(parents[0])
        try rig.subject.apply(.end(parents[0], claim: 1, .success(result: nil)))
        #expect(try rig.subject.status(later) == .new)
        #expect(try rig.subject.claim(later, now: .base + .seconds(99)) == nil)
        #expect(try rig.store.promoteDue(shard: 0, now: .base + .seconds(100), limit: 10).ready.map(\.id) == [later])
        let expiry = try rig.store.expire(shard: 0, now: .base + .seconds(50), limit: 10)
        #expect(expiry.effects.events.map(\.transition.id) == [never, grandchild])
        #expect(expiry.effects.ready.map(\.id) == [grandchild])
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a retry of the parent revives what its failure has cancelled`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let parent = try rig.subject.submit()
        let child = try rig.subject.submit(Self.child(of: parent))
        let grandchild = try rig.subject.submit(Self.child(of: child))
        let handler = try rig.subject.submit(Self.child(of: parent, when: .failure))
        try rig.subject.claim(parent)
        try rig.subject.apply(.end(parent, claim: 1, .failure(CommandFailure(.final, reason: "HTTP 404"))))
        #expect(try rig.subject.status(grandchild) == .cancelled && rig.subject.status(handler) == .new)
        // Retried alone, the child would wait for a command that has ended.
        let error = #expect(throws: StoreError.self) { try rig.store.retry(child, now: .base) }
        #expect(error?.code == .conflict && error?.message.contains("\(parent)") == true)
        let effects = try #require(try rig.store.retry(parent, now: .base))
        #expect(effects.ready.map(\.id) == [parent])
        #expect(Set(effects.events.map(\.transition.id)) == [parent, child, grandchild])
        #expect(try [child, grandchild].map { try rig.subject.status($0) } == [.blocked, .blocked])
        try rig.check()
        try rig.subject.claim(parent)
        try rig.subject.apply(.end(parent, claim: 2, .success(result: nil)))
        #expect(try rig.subject.status(child) == .new && rig.subject.status(handler) == .new)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `the deadline of a revived child ends its wait, and one that has passed is removed`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let parent = try rig.subject.submit()
        let passed = try rig.subject.submit(Self.child(of: parent).with { $0.deadline = .base + .seconds(50) })
        let later = try rig.subject.submit(Self.child(of: parent).with { $0.deadline = .base + .seconds(200) })
        _ = try rig.store.cancel(parent, reason: "no", now: .base + .seconds(10))
        #expect(try [passed, later].map { try rig.subject.status($0) } == [.cancelled, .cancelled])
        _ = try rig.store.retry(parent, now: .base + .seconds(100))
        #expect(try rig.store.command(passed)?.deadline == nil)
        try rig.subject.claim(parent, now: .base + .seconds(100))
        try rig.subject.apply(.end(parent, claim: 1, .success(result: nil)))
        #expect(try [passed, later].map { try rig.subject.status($0) } == [.new, .new])
        let expiry = try rig.store.expire(shard: 0, now: .base + .seconds(200), limit: 10)
        #expect(expiry.effects.events.map(\.transition.id) == [later])
        #expect(try rig.subject.claim(passed, now: .base + .seconds(200)) == 1)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a child of two failed parents stays cancelled until both are retried`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let parents = try rig.subject.submit([.noop, .noop])
        let child = try rig.subject.submit(Self.child(of: parents[0], parents[1]))
        for parent in parents { _ = try rig.store.cancel(parent, reason: "no", now: .base) }
        _ = try rig.store.retry(parents[0], now: .base)
        #expect(try rig.subject.status(child) == .cancelled)
        try rig.check()
        try rig.subject.claim(parents[0])
        try rig.subject.apply(.end(parents[0], claim: 1, .success(result: nil)))
        #expect(try rig.subject.status(child) == .cancelled)
        _ = try rig.store.retry(parents[1], now: .base)
        #expect(try rig.subject.status(child) == .blocked)
        try rig.subject.claim(parents[1])
        try rig.subject.apply(.end(parents[1], claim: 1, .success(result: nil)))
        #expect(try rig.subject.status(child) == .new)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a parent is kept until what waits for it has ended`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let parent = try rig.subject.submit()
        let child = try rig.subject.submit(Self.child(of: parent))
        try rig.subject.claim(parent)
        try rig.subject.apply(.end(parent, claim: 1, .success(result: nil)))
        func prune() throws -> Int {
            try rig.store.prune(
                shard: 0, before: .base + .seconds(1000), statuses: [.success, .cancelled], limit: 10
            ).count
        }
        #expect(try prune() == 0)
        try rig.subject.claim(child)
        try rig.subject.apply(.end(child, claim: 1, .success(result: nil)))
        #expect(try prune() + prune() == 2)
        #expect(try rig.all().isEmpty)
        try rig.check()
    }

    @Test func `a store of release 0.1.0 refuses dependencies and flows`() throws {
        let subject = try StoreUnderTest(.firstRelease, shardCount: 1)
        let parent = try subject.submit()
        let result = subject.store.submit([Self.child(of: parent)], allowUnknownTypes: false, now: .base)
        #expect(throws: StoreError.self) { try result[0].get() }
        let plan = try FlowPlan(FlowDraft("f", nodes: [FlowNode("a", .noop)]))
        let error = #expect(throws: StoreError.self) {
            try subject.store.submit(plan, allowUnknownTypes: false, now: .base)
        }
        #expect(error?.code == .overloaded && error?.message.contains("version 3") == true)
        #expect(try subject.countsAreTrue())
    }

    /// The reason of each command had the reasons of all before it, up to 2 KiB, which were counted by characters: 20,000
    /// commands took 7 to 12 s, beside 1.4 s for as many that wait for one. A worker's end and a deadline go the same way.
    @Test(arguments: StoreKind.current)
    func `the work of cancelling a chain grows with its length, and each reason names its beginning`(
        _ kind: StoreKind
    ) throws {
        let rig = try FlowRig(kind)
        let first = try rig.subject.submit()
        var last = first
        let count = 1500
        for _ in 0..<count { last = try rig.subject.submit(Self.child(of: last)) }
        _ = try rig.store.cancel(first, reason: "cancelled by a person", now: .base)
        var rounds = 0
        repeat { rounds += 1 } while try rig.store.settle(shard: 0, now: .base, limit: 500).hasMore
        #expect(rounds <= 3, "\(rounds)")
        #expect(try rig.store.counts()[.cancelled] == count + 1)
        let reason = "it waited for “\(first)”, which was cancelled: cancelled by a person"
        #expect(try rig.store.command(last)?.reason == reason)
        try rig.check()
    }
}
