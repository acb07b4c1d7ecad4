import Commands
import Host
import Store
import TestSupport
import Testing

/// Damages numbers of a shard by SQL, and mends them.
@Suite struct MendTests {
    private let place: TemporaryStore
    private let store: SQLiteStore
    private let probe: SQLiteProbe

    init() throws {
        place = try TemporaryStore("mend")
        store = try place.store(shards: 1)
        try store.open(Session(seat: 1, epoch: 7, pid: 1, startTime: 2, bootID: "boot"))
        probe = try SQLiteProbe(place.data.shard(0))
    }

    private func submit(_ nodes: FlowNode..., change: (inout FlowDraft) -> Void = { _ in }) throws -> [CommandID] {
        var draft = FlowDraft("test", nodes: nodes)
        change(&draft)
        let flow = try store.submit(FlowPlan(draft), allowUnknownTypes: false, now: .base).submission.id
        let members = try store.flowNodes(flow, after: 0, limit: 100)
        return [flow] + nodes.map { node in members.first { $0.name == node.name }?.command.id ?? flow }
    }

    private func status(_ id: CommandID) throws -> CommandStatus? { try store.command(id)?.status }

    private func end(_ id: CommandID, _ result: ExecutionResult = .success(result: nil)) throws {
        let claim = try store.apply(
            [.claim(id, sent: true)], shard: 0, seat: 1, epoch: 7, now: .base + .seconds(1))
        guard case .claimed(let command, _, _, _) = claim[0] else { throw Missed("\(id) cannot be claimed") }
        let end = try store.apply(
            [.end(id, claim: command.claim, result)], shard: 0, seat: 1, epoch: 7, now: .base + .seconds(2))
        guard case .done = end[0] else { throw Missed("\(id) cannot be ended") }
    }

    /// Mends the shard, whose problems must be gone.
    private func mend() throws -> [String] {
        #expect(try !store.relationProblems(shard: 0).isEmpty)
        let mend = try store.mend(shard: 0, now: .base + .seconds(3))
        #expect(mend.left == [])
        #expect(try store.relationProblems(shard: 0) == [])
        return mend.changes
    }

    @Test func `nothing is written where the numbers are right`() throws {
        let ids = try submit(FlowNode("a", .noop), FlowNode("b", .noop, after: ["a": .success]))
        try end(ids[1])
        let before = try probe.number("PRAGMA data_version")
        #expect(try store.mend(shard: 0, now: .base) == ShardMend())
        #expect(try probe.number("PRAGMA data_version") == before)
    }

    @Test func `a node that waits for too many commands goes on`() throws {
        let ids = try submit(FlowNode("a", .noop), FlowNode("b", .noop, after: ["a": .success]))
        try probe.run("UPDATE node SET pending = pending + 1 WHERE flow IS NOT NULL AND pending > 0")
        try end(ids[1])
        #expect(try status(ids[2]) == .blocked)
        let changes = try mend()
        #expect(changes.contains { $0.contains("\(ids[2]) waited for 1 commands, and waits for 0 now") }, "\(changes)")
        try end(ids[2])
        #expect(try status(ids[0]) == .success)
    }

    @Test func `a flow that counts wrong nodes and failures ends`() throws {
        let ids = try submit(FlowNode("a", .noop), FlowNode("b", .noop)) {
            $0.callbacks = [.init(on: .success, .noop)]
        }
        try probe.run("UPDATE node SET pending = pending + 2 WHERE flow IS NULL")
        try probe.run("UPDATE flow SET failed = 1")
        try end(ids[1])
        try end(ids[2])
        #expect(try status(ids[0]) == .blocked)
        let changes = try mend()
        #expect(changes.contains { $0.contains("counted 1 failed nodes, and counts 0 now") }, "\(changes)")
        #expect(try status(ids[0]) == .success)
        // Its callback was let go in the same transaction.
        #expect(try store.flowNodes(ids[0], after: 0, limit: 9).last?.command.status == .new)
    }

    @Test func `a flow that missed a failure stops, where a failure stops it`() throws {
        let ids = try submit(
            FlowNode("a", .noop), FlowNode("b", .noop), FlowNode("c", .noop, after: ["b": .success])
        ) { $0.stopsOnFailure = true }
        try probe.run("CREATE TEMP TABLE kept AS SELECT turn, pending FROM node")
        try end(ids[1], .failure(CommandFailure(.final, reason: "HTTP 404")))
        // As if the failure had never been counted, and nothing had followed.
        try probe.run("UPDATE flow SET failed = 0, first_failed = NULL")
        let cancelled = try status(ids[2]) == .cancelled && status(ids[3]) == .cancelled
        #expect(cancelled)
        #expect(try mend().contains { $0.contains("counted 0 failed nodes, and counts") })
        #expect(try status(ids[0]) == .tooManyTimes)
    }

    @Test func `commands whose release was lost go on`() throws {
        let ids = try submit(FlowNode("a", .noop), FlowNode("b", .noop, after: ["a": .success]))
        try end(ids[1])
        try probe.run("UPDATE command SET status = 6 WHERE turn = 3")
        try probe.run("UPDATE node SET pending = 1 WHERE turn = 3")
        try probe.run("UPDATE dependency SET state = 0 WHERE child = 3")
        _ = try mend()
        #expect(try status(ids[2]) == .new)
        try end(ids[2])
        #expect(try status(ids[0]) == .success)
    }

    @Test func `a command that can never run is cancelled`() throws {
        let ids = try submit(FlowNode("a", .noop), FlowNode("b", .noop, after: ["a": .success]))
        try end(ids[1], .failure(CommandFailure(.final, reason: "HTTP 404")))
        try probe.run("UPDATE command SET status = 6 WHERE turn IN (1, 3)")
        try probe.run("UPDATE dependency SET state = 0 WHERE child = 3")
        _ = try mend()
        #expect(try store.command(ids[2])?.reason == "it waited for “a”, which was given up: HTTP 404")
        #expect(try status(ids[0]) == .tooManyTimes)
    }

    private func submitKeyed(_ count: Int) throws -> [CommandID] {
        let draft = CommandDraft.noop.with { $0.orderingKey = "lane" }
        return try store.submit(
            [CommandDraft](repeating: draft, count: count), allowUnknownTypes: false, now: .base
        ).map { try $0.get().id }
    }

    @Test func `an ordering key that counts too many holders is free again`() throws {
        let ids = try submitKeyed(3)
        try probe.run("UPDATE lane SET open = 2")
        try end(ids[0])
        #expect(try status(ids[1]) == .blocked)
        let changes = try mend()
        #expect(changes.contains("the ordering key “lane” counted 1 commands, and counts 0 now"), "\(changes)")
        #expect(try [status(ids[1]), status(ids[2])] == [.new, .blocked])
        for id in ids.dropFirst() { try end(id) }
        #expect(try probe.number("SELECT count(*) FROM lane") == 0)
    }

    @Test func `a key without a row gets it back, and commands stay in their order`() throws {
        let ids = try submitKeyed(3)
        try probe.run("DELETE FROM lane")
        try probe.run("DELETE FROM waiter WHERE turn = 3")
        _ = try mend()
        #expect(try [status(ids[0]), status(ids[1]), status(ids[2])] == [.new, .blocked, .blocked])
        for id in ids { try end(id) }
    }

    @Test func `counts are those of the rows again`() throws {
        _ = try store.submitNoops(4)
        try probe.run("UPDATE counts SET n = n + 3 WHERE status = 0")
        try probe.run("DELETE FROM counts WHERE status = 4")
        let changes = try mend()
        #expect(changes.contains("commands in status new of quality default were counted as 7, and are 4 now"))
        #expect(try store.counts()[.new] == 4)
        for id in try store.list(CommandFilter(), after: nil, limit: 9).map(\.id) { try end(id) }
        #expect(try store.counts()[.success] == 4)
    }

    @Test func `numbers that were damaged at random are mended`() throws {
        var random = SeededRandom.announced("mend")
        for round in 0..<30 {
            let names = (0..<8).map { "n\($0)" }
            let nodes = names.indices.map { index in
                FlowNode(
                    names[index], .noop,
                    after: index == 0 || random.chance(0.3)
                        ? [:] : [names[random.number(in: 0..<index)]: random.chance(0.8) ? .success : .end])
            }
            var draft = FlowDraft("round \(round)", nodes: nodes)
            if random.chance(0.5) { draft.orderingKey = "flows" }
            _ = try store.submit(FlowPlan(draft), allowUnknownTypes: false, now: .base)
            _ = try submitKeyed(3)
            try probe.run(
                [
                    "UPDATE node SET pending = pending + 1 WHERE turn % 3 = 0",
                    "UPDATE node SET pending = max(pending - 1, 0) WHERE turn % 4 = 1",
                    "UPDATE flow SET failed = failed + 1", "UPDATE lane SET open = open + 1",
                    "UPDATE lane SET open = 0", "DELETE FROM lane", "UPDATE counts SET n = 0",
                    "DELETE FROM waiter WHERE turn % 2 = 0",
                ][random.number(in: 0..<8)])
            let mend = try store.mend(shard: 0, now: .base + .seconds(3))
            #expect(mend.left == [], "round \(round)")
            #expect(try store.relationProblems(shard: 0) == [], "round \(round)")
            // Some commands end between the rounds.
            let ready = try store.list(CommandFilter(status: .new), after: nil, limit: 100)
            for command in ready where random.chance(0.7) {
                let fails = random.chance(0.2)
                try end(
                    command.id,
                    fails ? .failure(CommandFailure(.final, reason: "HTTP 404")) : .success(result: nil))
            }
        }
        // All of them can end.
        for _ in 0..<1000 {
            let ready = try store.list(CommandFilter(status: .new), after: nil, limit: 100)
            if ready.isEmpty { break }
            for command in ready { try end(command.id) }
        }
        #expect(try store.list(CommandFilter(status: .blocked), after: nil, limit: 9).isEmpty)
    }
}
