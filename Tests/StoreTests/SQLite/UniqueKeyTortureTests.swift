import Commands
import Host
import Store
import Synchronization
import TestSupport
import Testing

/// Unique keys under random changes, and under many writers at once.
@Suite(.postgreSQLServer) struct UniqueKeyTortureTests {
    /// Makes the same random calls on both stores and compares the outcomes.
    @Test func `both stores grant and refuse keys alike, and a key never has two holders`() throws {
        var random = SeededRandom.announced("unique keys in two stores")
        // A claim of a command that its worker has already cannot be repeated.
        let stores = try [StoreKind.sqlite, .memory].map { try StoreUnderTest($0, shardCount: 2) }
        for store in stores { try store.open() }
        var now = Timestamp.base
        /// The same command in each store.
        var commands: [[CommandID]] = []
        for step in 0..<1500 {
            now = now + .milliseconds(random.number(in: 0..<2000))
            let pick = commands.isEmpty ? nil : commands[random.number(in: 0..<commands.count)]
            switch (random.number(in: 0..<10), pick) {
            case (4, let ids?):
                let outcomes = zip(stores, ids).map { store, id in Self.outcome { try store.claim(id, now: now) } }
                #expect(Set(outcomes).count == 1, "step \(step): \(outcomes)")
            case (5, let ids?), (6, let ids?):
                let ending: ExecutionResult =
                    random.chance(0.6)
                    ? .success(result: nil)
                    : .failure(CommandFailure(.final, reason: "no", ambiguous: random.chance(0.5)))
                for (store, id) in zip(stores, ids) {
                    guard let claim = try store.store.command(id)?.claim else { continue }
                    try store.apply(.end(id, claim: claim, ending), now: now)
                }
            case (7, let ids?):
                for (store, id) in zip(stores, ids) { _ = try? store.store.cancel(id, reason: "no", now: now) }
            case (8, let ids?):
                let outcomes = zip(stores, ids).map { store, id in
                    Self.outcome { try store.store.retry(id, now: now) != nil }
                }
                #expect(Set(outcomes).count == 1, "step \(step): \(outcomes)")
            case (9, let ids?):
                let status: CommandStatus = random.chance(0.5) ? .new : .cancelled
                for (store, id) in zip(stores, ids) { _ = try store.store.resolve(id, as: status, now: now) }
            default:
                let draft = Self.draft(&random)
                let submissions = stores.map { $0.store.submit([draft], allowUnknownTypes: false, now: now)[0] }
                let outcomes = submissions.map { result in Self.outcome { try result.get().isExisting } }
                #expect(Set(outcomes).count == 1, "step \(step): \(outcomes)")
                let made = submissions.compactMap { try? $0.get() }.filter { !$0.isExisting }
                if made.count == stores.count { commands.append(made.map(\.id)) }
            }
            for (index, ids) in commands.enumerated().suffix(40) {
                let statuses = try zip(stores, ids).map { try $0.status($1) }
                #expect(Set(statuses).count == 1, "step \(step), command \(index): \(statuses)")
            }
            for store in stores where step.isMultiple(of: 50) { try Self.checkHolders(store, now) }
        }
    }

    private static func draft(_ random: inout SeededRandom) -> CommandDraft {
        let periods: [UniquePeriod] = [.kept, .running, .duration(.seconds(5)), .duration(.seconds(60))]
        return .noop.with {
            $0.idempotent = random.chance(0.5)
            $0.uniqueKey = "key-\(random.number(in: 0..<6))"
            $0.uniqueFor = periods[random.number(in: 0..<periods.count)]
            $0.payload = Array("{\"milliseconds\":\(random.number(in: 0..<2))}".utf8)
        }
    }

    private static func outcome<Value>(_ body: () throws -> Value) -> String {
        do {
            return "\(try body())"
        } catch {
            return "\((error as? StoreError)?.code ?? .failed)"
        }
    }

    private static func checkHolders(_ subject: StoreUnderTest, _ now: Timestamp) throws {
        var after: CommandID?
        var holders: [String: Int] = [:]
        while true {
            let page = try subject.store.list(CommandFilter(), after: after, limit: 1000)
            for command in page where command.holdsUniqueKey(at: now) {
                holders[command.uniqueKey ?? "", default: 0] += 1
            }
            guard let last = page.last else { break }
            after = last.id
        }
        #expect(holders.values.allSatisfy { $0 == 1 }, "\(holders)")
        #expect(try subject.countsAreTrue())
    }

    @Test func `of many processes that submit a lapsed key at once, one makes the command and the others find it`()
        async throws
    {
        let fixture = try TemporaryStore()
        let draft = CommandDraft.noop.with {
            $0.uniqueKey = "tick"
            $0.uniqueFor = .duration(.seconds(10))
        }
        let first = try fixture.store().submit([draft], allowUnknownTypes: false, now: .base)[0].get().id
        for round in 1...5 {
            let now = Timestamp.base + .seconds(10 * round)
            let submissions = try await withThrowingTaskGroup(of: Submission.self) { group in
                for _ in 0..<8 {
                    // Each has a store of its own; they share only the files.
                    let store = try SQLiteStore(directory: fixture.data, create: false, clock: SettableClock())
                    group.addTask {
                        try await BlockingPool.shared.run { () throws(StoreError) -> Submission in
                            try store.submit([draft], allowUnknownTypes: false, now: now)[0].get()
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(submissions.count { !$0.isExisting } == 1)
            #expect(Set(submissions.map(\.id)).count == 1 && submissions.first?.id != first)
        }
        #expect(try fixture.store().counts()[.new] == 6)
    }
}
