import Commands
import Host
import TestSupport
import Testing

@testable import Store

/// Copies of whole stores between the engines.
@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)), .postgreSQLServer)
struct StoreCopyTests {
    private let rig: StoreCopyRig

    init() throws { rig = try StoreCopyRig() }

    /// Fills a store and closes it.
    private func fill(_ place: StoreCopy.Place) throws -> StoreCopyFill {
        try StoreCopyFill(rig.make(place))
    }

    private func content(_ place: StoreCopy.Place) throws -> [String] { try contentOfStore(rig.open(place).store) }

    private static func expectEqual(_ first: [String], _ second: [String]) {
        #expect(first == second, "\(StoreCopyRig.difference(first, second))")
    }

    /// The stored numbers are those of the rows.
    private func check(_ place: StoreCopy.Place) throws {
        let subject = try rig.open(place)
        for shard in 0..<subject.store.shardCount {
            let problems = try subject.store.relationProblems(shard: shard)
            #expect(problems.isEmpty, "shard \(shard): \(problems)")
        }
        #expect(try subject.countsAreTrue())
    }

    private func id(of place: StoreCopy.Place) throws -> String? { try rig.open(place).store.storeID() }

    // MARK: Content

    @Test func `a store that is copied to PostgreSQL and back has the same rows`() throws {
        let (first, middle, last) = (rig.sqlite(), rig.postgreSQL(), rig.sqlite())
        let original = try contentOfStore(fill(first).subject.store)
        let rows = try StoreCopyRig.rows(of: first)
        let there = try StoreCopy.run(from: first, to: middle)
        try check(middle)
        Self.expectEqual(original, try content(middle))
        let back = try StoreCopy.run(from: middle, to: last)
        try check(last)
        Self.expectEqual(original, try content(last))
        Self.expectEqual(rows, try StoreCopyRig.rows(of: last))
        // The source is unchanged.
        Self.expectEqual(rows, try StoreCopyRig.rows(of: first))
        #expect(there.before == there.after && there.rows == back.rows && there.released.isEmpty)
        #expect(there.spooledUploads == 4 && there.uploadsLeft == 0)
        let missing = CopiedKind.allCases.filter { there.rows[$0] == nil && $0 != .cascades && $0 != .inbox }
        #expect(missing.isEmpty, "the store has no \(missing.map(\.rawValue))")
        #expect(Set([try id(of: first), try id(of: middle), try id(of: last)]).count == 3)
    }

    @Test func `a store that is copied to another schema has the same content and a higher generation`() throws {
        let (first, last) = (rig.postgreSQL(), rig.postgreSQL())
        let original = try contentOfStore(fill(first).subject.store)
        _ = try StoreCopy.run(from: first, to: last)
        Self.expectEqual(original, try content(last))
        try check(last)
        let stores = try [first, last].map { try #require(try rig.open($0).store as? PostgreSQLStore) }
        #expect(stores[1].identity.generation == stores[0].identity.generation + 1)
        #expect(stores[1].identity.store != stores[0].identity.store)
    }

    @Test func `a role with the printed rights fills a store that the owner has made, also behind an interrupted copy`()
        throws
    {
        let (first, owned) = (rig.sqlite(), rig.postgreSQL())
        let original = try contentOfStore(fill(first).subject.store)
        guard case .server(let url, let schema?) = owned else { throw Missed("not a server") }
        _ = try rig.make(owned)
        let role = "role_\(UInt64.random(in: 0 ... .max))"
        for line in ["CREATE ROLE \(role);", PostgreSQLSchema.grants(schema, to: role)].joined(separator: "\n").split(
            separator: "\n")
        {
            try rig.run(String(line), in: owned)
        }
        defer { for sql in ["DROP OWNED BY \(role)", "DROP ROLE \(role)"] { try? rig.run(sql, in: owned) } }
        let target = StoreCopy.Place.server(url: "\(url)&options=-c%20role%3D\(role)", schema: schema)
        let interruption = try StoreCopyRig.error {
            _ = try StoreCopy.run(from: first, to: target) { progress throws(StoreError) in
                if progress.kind == .schedules { throw StoreError(.failed, "interrupted") }
            }
        }
        #expect(interruption.message == "interrupted", "\(interruption)")
        _ = try StoreCopy.run(from: first, to: target)
        Self.expectEqual(original, try content(owned))
        try check(owned)
    }

    @Test func `random flows keep their numbers right when they are copied between their steps`() throws {
        var random = SeededRandom.announced("copy")
        for _ in RandomRounds("copy", 3...10, within: .seconds(10)) {
            let places = [rig.sqlite(), rig.postgreSQL(), rig.sqlite()]
            var epoch = StoreUnderTest.epoch
            for (number, place) in places.enumerated() {
                if number > 0 { _ = try StoreCopy.run(from: places[number - 1], to: place) }
                try step(place, isFirst: number == 0, isLast: number == 2, &epoch, &random)
            }
        }
    }

    private func step(
        _ place: StoreCopy.Place, isFirst: Bool, isLast: Bool, _ epoch: inout Int64, _ random: inout SeededRandom
    ) throws {
        let subject = try isFirst ? rig.make(place, shardCount: 1) : rig.open(place)
        let flows = FlowRig(subject)
        if isFirst {
            try subject.open(epoch: epoch)
            epoch = try RelationFuzzConformance.begin(flows, &random)
        } else {
            let problems = try subject.store.relationProblems(shard: 0)
            #expect(problems.isEmpty, "\(problems)")
            #expect(try subject.countsAreTrue())
            epoch += 1
            try subject.open(epoch: epoch)
            for _ in 0..<20 { try RelationFuzzConformance.step(flows, &epoch, &random) }
        }
        if isLast { return try RelationFuzzConformance.end(flows, epoch, &random) }
        try subject.store.reap(
            seat: StoreUnderTest.seat, epoch: epoch, charges: false, started: nil, reason: "stopped", now: .base
        ) { _ in }
    }

    @Test func `large payloads are copied in small pages`() throws {
        let (first, middle, last) = (rig.sqlite(), rig.postgreSQL(), rig.sqlite())
        let payload =
            Array("{\"milliseconds\": 0, \"x\": \"".utf8) + [UInt8](repeating: 0x61, count: 900_000) + Array("\"}".utf8)
        do {
            let subject = try rig.make(first, shardCount: 1)
            for _ in 0..<20 { try subject.submit(.noop.with { $0.payload = payload }) }
        }
        for (from, to) in [(first, middle), (middle, last)] {
            var pages: [Int] = []
            var before = 0
            _ = try StoreCopy.run(from: from, to: to) { progress in
                if progress.kind == .commands { pages.append(progress.rows - before) }
                before = progress.rows
            }
            #expect(pages.allSatisfy { $0 <= 5 } && pages.reduce(0, +) == 20, "\(pages)")
        }
        let subject = try rig.open(last)
        #expect(try subject.counted()[.new] == 20)
        for command in try subject.store.list(CommandFilter(), after: nil, limit: 100) {
            #expect(try subject.store.payload(command.id) == payload)
        }
    }

    // MARK: Work

    @Test(arguments: [true, false])
    func `work goes on in the copy`(_ isToPostgreSQL: Bool) throws {
        let first = isToPostgreSQL ? rig.sqlite() : rig.postgreSQL()
        let last = isToPostgreSQL ? rig.postgreSQL() : rig.sqlite()
        let ids = try fill(first).ids
        _ = try StoreCopy.run(from: first, to: last)
        let subject = try rig.open(last)
        let (store, shards) = (subject.store, ShardRig(subject))
        let newest = try (0..<4).map { try store.lastTransition(shard: $0) }
        // A claim of the source is not valid here.
        #expect(try subject.claim(ids.parent) == nil)
        let epoch = StoreUnderTest.epoch + 1
        try subject.open(epoch: epoch)
        func end(_ id: CommandID, _ result: ExecutionResult = .success(result: nil)) throws {
            let claim = try #require(
                try subject.claim(id, epoch: epoch, now: .base + .seconds(100_000)), "\(id) cannot be claimed")
            try subject.apply(.end(id, claim: claim, result), epoch: epoch, now: .base + .seconds(100_001))
        }
        try shards.carry()
        try end(ids.parent)
        try shards.carry()
        #expect(try subject.status(ids.child) == .new)
        try end(ids.child)
        for member in ids.members { try end(member) }
        try store.seal(ids.batch, now: .base)
        try shards.carry()
        #expect(try subject.status(ids.batch) == .success)
        for _ in 0..<5 {
            for node in try store.flowNodes(ids.flow, after: 0, limit: 100) where node.command.status == .new {
                try end(node.command.id)
            }
        }
        #expect(try subject.status(ids.flow) == .success)
        for id in ids.queue { try end(id) }
        _ = try store.retry(ids.checkpointed, now: .base)
        let outcome = try subject.apply(
            .claim(ids.checkpointed, sent: true), epoch: epoch, now: .base + .seconds(100_000))
        guard case .claimed(_, _, let checkpoint, _) = outcome else { throw Missed("\(outcome)") }
        #expect(checkpoint == StoreCopyFill.checkpoint)
        // Numbers go on behind those of the source.
        for shard in 0..<4 {
            let id = try shards.submit(to: shard)
            let transition = try #require(try store.timeline(id).first)
            #expect(transition.seq > newest[shard])
            let turns = try store.list(CommandFilter(), after: nil, limit: 1000).filter {
                $0.id.shard(of: 4) == shard
            }.map(\.turn)
            #expect(Set(turns).count == turns.count)
        }
        // A unique key that was held is held.
        let repeated = try store.submit([.noop.with { $0.uniqueKey = "kept" }], allowUnknownTypes: false, now: .base)[0]
            .get()
        #expect(repeated.isExisting)
        try shards.check()
    }

    // MARK: Claims

    @Test(arguments: [true, false])
    func `a store in which a worker has a session is refused, and a claim without one is released`(_ isSQLite: Bool)
        throws
    {
        let first = isSQLite ? rig.sqlite() : rig.postgreSQL()
        let last = isSQLite ? rig.postgreSQL() : rig.sqlite()
        let ids = try makeClaimed(first)
        let error = try StoreCopyRig.error { _ = try StoreCopy.run(from: first, to: last) }
        #expect(error.code == .busy && error.message.contains("sluice up") && error.message.contains("3 commands"))
        try rig.run("DELETE FROM session", in: first)
        let report = try StoreCopy.run(from: first, to: last)
        #expect(report.released == [.new: 2, .inDoubt: 1] && report.before == report.after)
        let subject = try rig.open(last)
        #expect(try ids.map { try subject.status($0) } == [.new, .new, .inDoubt])
        #expect(try subject.countsAreTrue() && subject.store.claimed(shard: 0).isEmpty)
        try check(last)
        let released = try #require(try subject.store.command(ids[0]))
        #expect(released.retries == 0 && released.crashes == 0)
    }

    private func makeClaimed(_ place: StoreCopy.Place) throws -> [CommandID] {
        let subject = try rig.make(place)
        return [
            try subject.make(.queued), try subject.make(.sent),
            try {
                let id = try subject.submit(.noop.with { $0.idempotent = false })
                try subject.claim(id)
                return id
            }(),
        ]
    }

    // MARK: Interruptions

    @Test(arguments: [true, false])
    func `a copy that was interrupted is refused until it is copied again`(_ isToPostgreSQL: Bool) throws {
        let first = isToPostgreSQL ? rig.sqlite() : rig.postgreSQL()
        let last = isToPostgreSQL ? rig.postgreSQL() : rig.sqlite()
        let original = try contentOfStore(fill(first).subject.store)
        for pages in [1, 6] {
            var count = 0
            let error = try StoreCopyRig.error {
                _ = try StoreCopy.run(from: first, to: last) { _ throws(StoreError) in
                    count += 1
                    if count == pages { throw StoreError(.failed, "interrupted") }
                }
            }
            #expect(error.message == "interrupted")
            let refusal = try StoreCopyRig.error { _ = try rig.open(last) }
            #expect(refusal.code == .corrupt && refusal.message.contains("sluice store copy"), "\(refusal)")
        }
        _ = try StoreCopy.run(from: first, to: last)
        Self.expectEqual(original, try content(last))
        try check(last)
    }

    @Test func `a copy whose counts are not those of the source cannot be used`() throws {
        let (first, last) = (rig.sqlite(), rig.postgreSQL())
        _ = try fill(first)
        // A count that is wrong is found at the end.
        try rig.run("UPDATE counts SET n = n + 1 WHERE status = 0 AND qos = 3", in: first)
        let error = try StoreCopyRig.error { _ = try StoreCopy.run(from: first, to: last) }
        #expect(error.code == .corrupt && error.message.contains("--mend"), "\(error)")
        let refusal = try StoreCopyRig.error { _ = try rig.open(last) }
        #expect(refusal.code == .corrupt)
    }
}
