import Commands
import Store
import TestSupport
import Testing

/// The quality of service of commands that others wait for: dependencies, ordering keys, flows, and other shards.
@Suite(.postgreSQLServer) struct QualityConformance {
    private static func draft(
        _ qos: QualityOfService, key: String? = nil, after parents: [CommandID] = []
    ) -> CommandDraft {
        .noop.with {
            $0.qos = qos
            $0.orderingKey = key
            $0.dependencies = parents.map { Dependency(on: $0) }
        }
    }

    private static func qualities(_ rig: FlowRig, _ ids: [CommandID]) throws -> [QualityOfService] {
        try ids.map { try #require(try rig.store.command($0)).qos }
    }

    @Test(arguments: StoreKind.current)
    func `the whole chain before an urgent command gets its quality in the commit of its submit`(
        _ kind: StoreKind
    ) throws {
        let rig = try FlowRig(kind)
        let first = try rig.subject.submit(Self.draft(.background))
        let second = try rig.subject.submit(Self.draft(.utility, after: [first]))
        let high = try rig.subject.submit(Self.draft(.userInteractive, after: [first]).with { $0.qos = .background })
        let result = rig.store.submit(
            [Self.draft(.userInitiated, after: [second])], allowUnknownTypes: false, now: .base)
        let submission = try result[0].get()
        #expect(try Self.qualities(rig, [first, second, high]) == [.userInitiated, .userInitiated, .background])
        #expect(submission.changed == [first], "the one that is ready")
        #expect(try rig.store.takeReadyAgain(shard: 0, limit: 10).map(\.qos) == [.userInitiated])
        #expect(try rig.store.command(first)?.reason == "\(second) waits for it")
        #expect(try rig.store.command(second)?.reason == "\(submission.id) waits for it")
        // It is never lowered again, neither by a waiter of low quality nor by the end of the urgent one.
        _ = try rig.subject.submit(Self.draft(.background, after: [first]))
        _ = try rig.store.cancel(submission.id, reason: "no", now: .base)
        #expect(try Self.qualities(rig, [first, second]) == [.userInitiated, .userInitiated])
        // The reason does not outlive the wait.
        try rig.subject.claim(first)
        try rig.subject.apply(.end(first, claim: 1, .success(result: nil)))
        #expect(try rig.store.command(first)?.reason == nil)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a command that runs or has failed is raised too, and ends as usual`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let (running, failed) = (
            try rig.subject.submit(Self.draft(.background)), try rig.subject.submit(Self.draft(.background))
        )
        for id in [running, failed] { try rig.subject.claim(id) }
        try rig.subject.apply(.end(failed, claim: 1, .failure(CommandFailure(.command, reason: "HTTP 500"))))
        _ = try rig.subject.submit(Self.draft(.default, after: [running, failed]))
        #expect(try Self.qualities(rig, [running, failed]) == [.default, .default])
        #expect(try rig.store.command(failed)?.reason == "HTTP 500")
        try rig.subject.apply(.end(running, claim: 1, .success(result: nil)))
        #expect(try rig.subject.status(running) == .success)
        #expect(try rig.subject.countsAreTrue())
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `those before an urgent command in the queue of its ordering key get its quality`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let ahead = try (0..<4).map { _ in try rig.subject.submit(Self.draft(.background, key: "k")) }
        let other = try rig.subject.submit(Self.draft(.background, key: "other"))
        let urgent = try rig.subject.submit(Self.draft(.userInitiated, key: "k"))
        let behind = try rig.subject.submit(Self.draft(.background, key: "k"))
        #expect(try Self.qualities(rig, ahead) == [QualityOfService](repeating: .userInitiated, count: 4))
        #expect(try Self.qualities(rig, [other, behind]) == [.background, .background])
        #expect(try rig.store.command(ahead[0])?.reason == "\(urgent) waits for it")
        // The next one passes over what the first has raised.
        _ = try rig.subject.submit(Self.draft(.userInteractive, key: "k"))
        #expect(try Self.qualities(rig, ahead + [behind]).allSatisfy { $0 == .userInteractive })
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a requalified command raises what it waits for`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let parent = try rig.subject.submit(Self.draft(.background))
        let child = try rig.subject.submit(Self.draft(.background, after: [parent]))
        #expect(try rig.store.requalify(child, ifNewest: nil, qos: .userInitiated, now: .base))
        #expect(try Self.qualities(rig, [parent]) == [.userInitiated])
        #expect(try rig.store.requalify(child, ifNewest: nil, qos: .utility, now: .base))
        #expect(try Self.qualities(rig, [parent, child]) == [.userInitiated, .utility])
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a flow that an urgent command waits for, and a node before an urgent node, are raised`(
        _ kind: StoreKind
    ) throws {
        let rig = try FlowRig(kind)
        let low = Self.draft(.background)
        let flow = FlowDraft(
            "f",
            nodes: [
                FlowNode("a", low), FlowNode("b", low, after: ["a": .success]),
                FlowNode("c", Self.draft(.default), after: ["a": .success]), FlowNode("d", low),
            ])
        let id = try rig.store.submit(FlowPlan(flow), allowUnknownTypes: false, now: .base).submission.id
        func nodes() throws -> [String: QualityOfService] {
            let nodes = try rig.store.flowNodes(id, after: 0, limit: 9)
            return Dictionary(uniqueKeysWithValues: nodes.map { ($0.name ?? "", $0.command.qos) })
        }
        #expect(try nodes() == ["a": .default, "b": .background, "c": .default, "d": .background])
        _ = try rig.subject.submit(Self.draft(.userInitiated, after: [id]))
        #expect(try Set(nodes().values) == [.userInitiated])
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a chain through several shards is raised by messages`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        func submit(_ shard: Int, _ qos: QualityOfService, after parents: [CommandID] = []) throws -> CommandID {
            try rig.subject.submit(
                rig.draft(in: shard) {
                    $0.qos = qos
                    $0.dependencies = parents.map { Dependency(on: $0) }
                })
        }
        let first = try submit(0, .background)
        let second = try submit(1, .background, after: [first])
        try rig.carry()
        let third = try submit(2, .userInitiated, after: [second])
        let effects = try rig.carry()
        for id in [first, second] { #expect(try rig.store.command(id)?.qos == .userInitiated) }
        #expect(try rig.store.command(second)?.reason == "\(third) waits for it")
        #expect(effects.ready.map(\.id) == [first])
        // The doubled question does not disturb the answer.
        for id in [first, second] {
            try rig.end(id)
            try rig.carry()
        }
        #expect(try rig.subject.status(third) == .new)
        try rig.check()
    }

    /// Also where the wait passes through other shards, where a member waits itself, where the members are more than one
    /// transaction changes, and where the quality rises twice.
    @Test(arguments: StoreKind.current)
    func `the members of a batch that an urgent command waits for are raised, and those that come later`(
        _ kind: StoreKind
    ) throws {
        let rig = try ShardRig(kind)
        let batch = try rig.store.open(BatchDraft("import"), allowUnknownTypes: false, now: .base)
        let low = Self.draft(.background).with { $0.batch = batch }
        let members = try rig.subject.submit(.init(repeating: low, count: 5000))
        let other = try rig.subject.submit(Self.draft(.background))
        let child = try rig.subject.submit(low.with { $0.dependencies = [Dependency(on: other)] })
        _ = try rig.subject.submit(
            rig.draft(in: 1) {
                $0.qos = .utility
                $0.dependencies = [Dependency(on: batch, .end)]
            })
        /// All shards, in several rounds: a message may be behind a cascade, and the other way round.
        func carry() throws {
            for _ in 0..<3 {
                try rig.carry()
                for shard in 0..<ShardRig.shardCount {
                    while try rig.store.settle(shard: shard, now: .base, limit: 100).hasMore {}
                }
            }
        }
        try carry()
        func qualities(_ ids: [CommandID]) throws -> Set<QualityOfService> {
            try Set(ids.map { try #require(try rig.store.command($0)).qos })
        }
        #expect(try qualities(members + [child, other]) == [.utility])
        let late = try rig.store.submit([low], allowUnknownTypes: false, now: .base)[0].get()
        #expect(late.qos == .utility && low.ready(late, now: .base)?.qos == .utility)
        #expect(try qualities([late.id]) == [.utility])
        #expect(try rig.store.command(members[0])?.reason == "\(batch) waits for it")
        let urgent = try rig.subject.submit(
            rig.draft(in: 2) {
                $0.qos = .userInitiated
                $0.dependencies = [Dependency(on: batch, .end)]
            })
        try carry()
        #expect(try qualities(members + [batch, child, other, late.id]) == [.userInitiated])
        #expect(try rig.store.command(batch)?.reason == "\(urgent) waits for it")
        try rig.store.seal(batch, now: .base)
        try rig.check()
    }

    /// Also for parents, the nodes of a flow, and a node that waits for the key of its flow: each is a long list.
    @Test(arguments: StoreKind.current)
    func `more commands than one transaction raises follow in the next ones`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let count = 3000
        let queue = try rig.subject.submit(.init(repeating: Self.draft(.background, key: "k"), count: count))
        let flow = FlowDraft(
            "f",
            nodes: (0..<count).map { FlowNode("n\($0)", Self.draft(.background)) })
        let id = try rig.store.submit(FlowPlan(flow), allowUnknownTypes: false, now: .base).submission.id
        let parents = try rig.subject.submit(
            .init(repeating: Self.draft(.background), count: CommandDraft.maxDependencies))
        func raised(_ ids: [CommandID], _ qos: QualityOfService) throws -> Int {
            try Self.qualities(rig, ids).count { $0 == qos }
        }
        func settle() throws {
            while try rig.store.settle(shard: 0, now: .base, limit: 500).hasMore {}
        }
        _ = try rig.subject.submit(Self.draft(.userInitiated, key: "k"))
        let first = try raised(queue, .userInitiated)
        #expect(first >= 1000 && first < 1600, "\(first) in the commit of the submit")
        #expect(try Self.qualities(rig, [queue[0]]) == [.userInitiated], "those first that run first")
        // It rises again before the rest has followed.
        _ = try rig.subject.submit(Self.draft(.userInteractive, key: "k"))
        try settle()
        #expect(try raised(queue, .userInteractive) == count)
        _ = try rig.subject.submit(Self.draft(.userInitiated, after: [id]))
        _ = try rig.subject.submit(Self.draft(.utility, after: parents))
        try settle()
        var nodes: [FlowNodeState] = []
        while nodes.count < count {
            let page = try rig.store.flowNodes(id, after: nodes.last?.position ?? 0, limit: 1000)
            if page.isEmpty { break }
            nodes += page
        }
        #expect(nodes.count == count && nodes.allSatisfy { $0.command.qos == .userInitiated })
        #expect(try raised(parents, .utility) == parents.count)
        #expect(try rig.subject.countsAreTrue())
        try rig.check()
    }
}
