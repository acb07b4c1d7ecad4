import Commands
import Store
import TestSupport
import Testing

/// The quality of service of commands that others wait for: dependencies, ordering keys, flows, and other shards.
@Suite struct QualityConformance {
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
}
