import Commands
import Host
import TestSupport
import Testing

@testable import Store

/// A store of four shards with everything that a copy has to take along, which has been stopped.
struct StoreCopyFill {
    struct IDs {
        private static let none = CommandID(high: 0, low: 0)
        /// A command that waits for one of another shard, whose message is not carried yet.
        var child = none
        var parent = none
        /// A batch with two open members.
        var batch = none
        var members: [CommandID] = []
        /// A flow: one of its nodes has ended.
        var flow = none
        /// An ordering key is held by the first and awaited by the others.
        var queue: [CommandID] = []
        /// A command that has failed once and has a checkpoint.
        var checkpointed = none
    }

    let subject: StoreUnderTest
    private let rig: ShardRig
    private var store: any CommandStore { subject.store }
    private(set) var ids = IDs()
    static let checkpoint: [UInt8] = [1, 0, 2, 255]

    init(_ subject: StoreUnderTest) throws {
        self.subject = subject
        rig = ShardRig(subject)
        try subject.open()
        try settings()
        try commands()
        try uniqueKeys()
        try relations()
        try batches()
        try schedule()
        try uploads()
        try prune()
        try store.close(seat: StoreUnderTest.seat, epoch: StoreUnderTest.epoch)
    }

    private func settings() throws {
        try store.set("pause.*.*", to: "2026-03-01T00:00:00Z")
        try store.set("network.https://ä.example", to: #"{"level":"offline"}"#)
        try store.set(SettingKey.limit("api"), to: #"{"starts":"30/s"}"#)
        try store.set(SettingKey.worker(seat: 1), to: #"{"pid":1}"#)
        try store.record(types: ["mine", "other"])
    }

    private mutating func commands() throws {
        let statuses: [CommandStatus] = [.new, .error, .success, .cancelled, .inDoubt, .tooManyTimes]
        for (number, status) in statuses.enumerated() {
            for qos in [QualityOfService.utility, .userInitiated] {
                _ = try subject.make(
                    status,
                    of: .noop.with {
                        $0.qos = qos
                        $0.destination = .test("host\(number)")
                        $0.payload = Array(#"{"milliseconds": \#(number)}"#.utf8)
                    })
            }
        }
        try subject.submit(.noop.with { $0.notBefore = .base + .seconds(86_400) })
        try subject.submit(.noop.with { $0.deadline = .base + .seconds(86_400 * 365) })
        for _ in 0..<3 { try subject.submit(.noop.with { $0.limit = "api" }) }
        // Ready again behind later ones.
        let retried = try subject.make(.tooManyTimes)
        _ = try store.retry(retried, now: .base)
        let urgent = try subject.submit()
        _ = try store.requalify(urgent, qos: .userInteractive)
        for result in [ShardRig.failure, .failure(CommandFailure(.command, reason: "went wrong"))] {
            let id = try subject.submit(.noop.with { $0.total = 100 })
            try subject.claim(id)
            try subject.apply(.offset(id, claim: 1, offset: 40, total: 100))
            try subject.apply(.saveCheckpoint(id, claim: 1, state: Self.checkpoint))
            try subject.apply(.end(id, claim: 1, result))
            ids.checkpointed = id
        }
    }

    private func uniqueKeys() throws {
        for (key, period) in [("kept", UniquePeriod.kept), ("running", .running), ("day", .duration(.seconds(86_400)))]
        {
            let draft = CommandDraft.noop.with {
                $0.uniqueKey = key
                $0.uniqueFor = period
            }
            let id = try subject.submit(draft)
            if period == .running { try rig.end(id) }
            // Free, or held by the first one.
            try subject.submit(draft)
        }
        let cancelled = try subject.submit(.noop.with { $0.uniqueKey = "given up" })
        _ = try store.cancel(cancelled, reason: "not wanted", now: .base)
        try subject.submit(.noop.with { $0.uniqueKey = "\(RequestKey.prefix)token:1" })
        let lapsing = CommandDraft.noop.with {
            $0.uniqueKey = "lapsing"
            $0.uniqueFor = .duration(.seconds(60))
        }
        try subject.submit(lapsing)
        try subject.submit(lapsing, now: .base + .seconds(120))
    }

    private mutating func relations() throws {
        var draft = FlowDraft(
            "flow",
            nodes: [
                FlowNode("a", .noop, after: [:]), FlowNode("b", .noop, after: ["a": .success]),
                FlowNode("c", .noop, after: ["a": .end, "b": .success], mayFail: true),
            ])
        draft.callbacks = [.init(on: .success, .noop), .init(on: .failure, .noop)]
        let submission = try store.submit(FlowPlan(draft), allowUnknownTypes: false, now: .base)
        ids.flow = submission.submission.id
        try rig.end(store.flowNodes(ids.flow, after: 0, limit: 1)[0].command.id)
        ids.queue = try (0..<3).map { _ in try subject.submit(.noop.with { $0.orderingKey = "queue" }) }
        // A dependant of a node, and of commands of other shards.
        let near = try rig.submit(to: 0)
        let node = try store.flowNodes(ids.flow, after: 0, limit: 3)[2].command.id
        try subject.submit(.noop.with { $0.dependencies = [Dependency(on: near), Dependency(on: node)] })
        let parents = try (0..<3).map { try rig.submit(to: $0) }
        _ = try rig.submit(to: 3, after: parents.map { Dependency(on: $0) })
        try rig.carry()
        try rig.end(parents[1], .success(result: Array(#"{"a":1}"#.utf8)))
        try rig.carry()
        ids.parent = try rig.submit(to: 1)
        ids.child = try rig.submit(to: 2, after: [Dependency(on: ids.parent, .end)])
    }

    private mutating func batches() throws {
        var draft = BatchDraft("import")
        draft.callbacks = [.init(on: .success, .noop)]
        for isSealed in [true, false] {
            ids.batch = try store.open(draft, allowUnknownTypes: false, now: .base)
            ids.members = try (0..<6).flatMap { _ in try subject.submit([.noop.with { $0.batch = ids.batch }]) }
            for member in ids.members.prefix(isSealed ? 6 : 4) { try rig.end(member) }
            if isSealed { try store.seal(ids.batch, now: .base) }
        }
        ids.members = Array(ids.members.suffix(2))
    }

    private func schedule() throws {
        let definition = try SchedulePut(
            .object([
                .init("cron", .string("* * * * *")), .init("command", .object([.init("type", .string("noop"))])),
            ]), name: "beat"
        ).definition
        let timing = ScheduleTiming(definition, in: .system)
        let state = timing.firstState(now: .base)
        try store.changeSchedule("beat") { _ throws(StoreError) in
            StoredSchedule(
                definition: definition, action: .command(ScheduledDraft(.noop, deadline: .seconds(90))), state: state)
        }
        let now = Timestamp.base + .seconds(120)
        for shard in 0..<4 {
            _ = try store.fireSchedules(shard: shard, .due, now: now, limit: 10) { schedule, last in
                ScheduleTiming(schedule.definition, in: .system).decision(for: schedule.state, now: now, last: last)
            }
        }
    }

    private func uploads() throws {
        for byte in UInt8(0)..<4 {
            let id = CommandID(now: .base, shardByte: byte)
            var facts = UploadFacts(origin: .tus)
            facts.fileName = "ä\u{301}\"b.mp4"
            var upload = Upload(id: id, length: nil, facts: facts, createdAt: .base)
            upload.idempotencyKey = byte == 1 ? "once" : nil
            _ = try store.apply(
                [.store(upload, body: [0, 1, byte, 255], .command(.noop))], shard: id.shard(of: 4), now: .base)[0].get()
            let ended = CommandID(now: .base, shardByte: byte)
            upload = Upload(id: ended, length: 100, facts: facts, createdAt: .base)
            upload.due = .base + .seconds(60)
            upload.storage = .file
            for write in [UploadWrite.create(upload), .end(ended, reason: "it was given up", due: nil)] {
                _ = try store.apply([write], shard: ended.shard(of: 4), now: .base)[0].get()
            }
        }
    }

    private func prune() throws {
        for shard in 0..<4 {
            let id = try rig.submit(to: shard)
            try subject.claim(id, now: .base + .seconds(-100))
            try subject.apply(.end(id, claim: 1, .success(result: nil)), now: .base + .seconds(-99))
            while try !store.prune(shard: shard, before: .base + .seconds(-50), statuses: [.success], limit: 10).isEnd {
            }
        }
    }
}
