import Commands
import Store
import TestSupport
import Testing

/// Commands that stay keep no other command from being pruned, and a loop over batches comes to its end.
@Suite(.postgreSQLServer) struct PruneConformance {
    private static let finals: Set<CommandStatus> = [.success, .cancelled]

    /// Prunes batches of two until one is the last.
    private static func prune(
        _ rig: FlowRig, _ statuses: Set<CommandStatus> = finals, before: Timestamp = .base + .seconds(1000)
    ) throws -> Int {
        var count = 0
        for _ in 0..<100 {
            let pruned = try rig.store.prune(shard: 0, before: before, statuses: statuses, limit: 2)
            count += pruned.count
            if pruned.isEnd { return count }
        }
        throw Missed("batch after batch finds the same commands")
    }

    private static func ids(_ rig: FlowRig) throws -> Set<CommandID> { Set(try rig.all().map(\.id)) }

    @Test(arguments: StoreKind.current, [DependencyCondition.success, .end])
    func `a flow stays until its callback has ended, and goes then`(
        _ kind: StoreKind, _ condition: DependencyCondition
    ) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a", "b < a", "c", callbacks: [condition])
        try rig.succeed("a", "b", "c")
        let flow = try Self.ids(rig)
        for _ in 0..<5 { _ = try rig.subject.make(.success) }
        #expect(try Self.prune(rig) == 5)
        #expect(try Self.ids(rig) == flow)
        try rig.succeed("then \(condition.name)")
        #expect(try Self.prune(rig) == 5)
        #expect(try rig.all().isEmpty)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a flow whose callback was given up goes with it`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a", "b", callbacks: [.success])
        try rig.succeed("a", "b")
        #expect(try Self.prune(rig) == 0)
        try rig.fail("then success")
        #expect(try Self.prune(rig, [.success, .cancelled, .tooManyTimes]) == 4)
        #expect(try rig.all().isEmpty)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `ended nodes of a running flow hide no command behind them`(_ kind: StoreKind) throws {
        for statuses in [Self.finals, [.success]] {
            let rig = try FlowRig(kind)
            try rig.submit("a", "b", "c", "d", "e", "open")
            try rig.succeed("a", "b", "c", "d", "e")
            let flow = try Self.ids(rig)
            for _ in 0..<5 { _ = try rig.subject.make(.success) }
            #expect(try Self.prune(rig, statuses) == 5, "\(statuses)")
            #expect(try Self.ids(rig) == flow)
        }
    }

    @Test(arguments: StoreKind.current)
    func `dead nodes of a running flow hide no dead letter behind them`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a?", "b?", "c?", "open")
        for name in ["a", "b", "c"] { try rig.fail(name) }
        let flow = try Self.ids(rig)
        for _ in 0..<3 { _ = try rig.subject.make(.tooManyTimes) }
        #expect(try Self.prune(rig, [.tooManyTimes]) == 3)
        #expect(try Self.ids(rig) == flow)
    }

    @Test(arguments: StoreKind.current)
    func `a command in doubt that others wait for stays`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let doubtful = try rig.subject.make(.inDoubt)
        let child = try rig.subject.submit(.noop.with { $0.dependencies = [Dependency(on: doubtful)] })
        _ = try rig.subject.make(.inDoubt)
        #expect(try Self.prune(rig, [.success, .cancelled, .tooManyTimes, .inDoubt]) == 1)
        #expect(try Self.ids(rig) == [doubtful, child])
    }

    @Test(arguments: StoreKind.current)
    func `a parent goes although its last child was pruned alone`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let parent = try rig.subject.make(.success)
        let dependency = Dependency(on: parent, .end)
        let child = try rig.subject.submit(.noop.with { $0.dependencies = [dependency] })
        #expect(try Self.prune(rig) == 0)
        _ = try rig.store.cancel(child, reason: "not wanted", now: .base + .seconds(500))
        #expect(try Self.prune(rig, [.cancelled]) == 1)
        #expect(try Self.prune(rig) == 1)
        #expect(try rig.all().isEmpty)
    }
}
