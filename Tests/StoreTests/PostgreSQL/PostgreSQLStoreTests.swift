import Commands
import Dispatch
import Host
import Synchronization
import TestSupport
import Testing

@testable import Store

/// The tests of a store on a server that no other store needs: its versions, several programs on one schema, and commits
/// without an answer.
@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)), .postgreSQLServer)
struct PostgreSQLStoreTests {
    /// Runs `body` with a schema of a store, on a thread that may block.
    private func schema<Value: Sendable>(
        _ body: @escaping @Sendable (PostgreSQLTestSchema) throws -> Value
    ) async throws -> Value {
        try await BlockingPool.shared.run { () throws(any Error) in
            let schema = try PostgreSQLTestSchema(shardCount: 4)
            defer { schema.remove() }
            return try body(schema)
        }
    }

    private static func error(of body: () throws -> Void) throws -> StoreError {
        do { try body() } catch let error as StoreError { return error }
        throw Missed("no error")
    }

    @Test func `a schema without a store is missing, and the message says how to make one`() async throws {
        let error = try await schema { schema in
            try Self.error { _ = try PostgreSQLStore(url: schema.url, schema: "no_such_schema") }
        }
        #expect(error.code == .missing && error.message.contains("sluice store create"))
    }

    @Test func `a store that needs a newer program is foreign`() async throws {
        let error = try await schema { schema in
            var connection = try PostgreSQLConnection.open(PostgreSQLLocation(schema.url), deadline: .soon)
            try connection.run("UPDATE \(schema.name).meta SET value = '2' WHERE key = 'min_reader'")
            return try Self.error { _ = try PostgreSQLStore(url: schema.url, schema: schema.name) }
        }
        #expect(error.code == .foreign && error.message.contains("version 2"))
    }

    @Test func `a key or a destination with NUL is refused as invalid`() async throws {
        let errors = try await schema { schema in
            let store = try PostgreSQLStore(url: schema.url, schema: schema.name)
            let drafts = [
                CommandDraft.noop.with { $0.uniqueKey = "a\0b" }, .noop.with { $0.orderingKey = "\0" },
                .noop.with { $0.destination = Destination(unchecked: "https://a\0b") },
            ]
            let results = store.submit(drafts + [.noop], allowUnknownTypes: false)
            #expect(throws: Never.self) { try results[3].get() }
            return results.prefix(3).map { result in Self.failure(of: result) }
        }
        for error in errors { #expect(error?.code == .invalid && error?.message.contains("NUL") == true, "\(errors)") }
    }

    private static func failure(of result: Result<Submission, StoreError>) -> StoreError? {
        if case .failure(let error) = result { error } else { nil }
    }

    /// As PgBouncer before 1.21 does, which gives the statements of a connection to another one.
    @Test func `a server that loses prepared statements is unsuitable, and the message names store.direct`()
        async throws
    {
        let error = try await schema { schema in
            let location = try PostgreSQLLocation(schema.url)
            var connection = try PostgreSQLConnection.open(location, deadline: .soon)
            let statement = PostgreSQLStatement("lost", "SELECT 1")
            _ = try connection.execute(statement, deadline: .soon)
            try connection.run("DEALLOCATE ALL")
            return try connection.error { connection throws(PostgreSQLError) in
                _ = try connection.execute(statement, deadline: .soon)
            }
        }
        #expect(error.code == .unsuitable && error.storeError.message.contains("store.direct"))
    }

    @Test func `the clock is that of the server`() async throws {
        let (isServer, distance) = try await schema { schema in
            let store = try PostgreSQLStore(url: schema.url, schema: schema.name)
            _ = try store.counts()
            return (!store.clock.followsThisMachine, store.clock.now() - Timestamp.now)
        }
        #expect(isServer && distance > .seconds(-1) && distance < .seconds(1))
    }

    /// Programs that lock the same shards in one order never wait for each other in a circle.
    @Test func `programs that write to all shards at once lose nothing`() async throws {
        let (ids, events, counts) = try await schema { schema in
            let made = Mutex<[CommandID]>([])
            DispatchQueue.concurrentPerform(iterations: 6) { number in
                guard let store = try? PostgreSQLStore(url: schema.url, schema: schema.name) else { return }
                for round in 0..<10 {
                    let drafts = (0..<20).map { index in
                        CommandDraft.noop.with { $0.uniqueKey = "\(number) \(round) \(index)" }
                    }
                    let found = store.submit(drafts, allowUnknownTypes: false).compactMap { try? $0.get().id }
                    made.withLock { $0 += found }
                }
            }
            let store = try PostgreSQLStore(url: schema.url, schema: schema.name)
            let events = try (0..<4).map { try store.events(shard: $0, after: 0, limit: 2000).events }
            return (made.withLock { $0 }, events, try store.counts())
        }
        #expect(ids.count == 1200 && Set(ids).count == 1200 && counts[.new] == 1200)
        for events in events { #expect(events.map(\.transition.seq) == Array(1...Int64(events.count))) }
    }

    @Test func `a submit whose commit is not answered is made once`() async throws {
        let rig = try await PostgreSQLRig()
        // The second connection is whole.
        let proxy = try ServerProxy(to: .loopback(port: rig.server.port)) { connection in
            connection == 0 ? ProxyFault(.close, .commitAnswer) : nil
        }
        try await stopping(proxy) {
            let url = rig.server.url(port: proxy.port) + "?sslmode=disable"
            let (submitted, listed) = try await schema { schema in
                let store = try PostgreSQLStore(url: url, schema: schema.name)
                let results = store.submit([.noop, .noop], allowUnknownTypes: false)
                let listed = try store.list(CommandFilter(), after: nil, limit: 10)
                return (try results.map { try $0.get().id }, listed.map(\.id))
            }
            #expect(proxy.faulty == [0])
            #expect(submitted.sorted() == listed)
        }
    }

    /// The server may still have to read a COMMIT whose connection is lost.
    @Test func `a commit without an answer is looked for behind the locks that it holds`() async throws {
        let (isEarly, isMade) = try await schema { schema in
            let store = try PostgreSQLStore(url: schema.url, schema: schema.name)
            let id = CommandID()
            let shard = id.shard(of: 4)
            let isMade = Mutex<Bool?>(nil)
            let isDone = DispatchSemaphore(value: 0)
            var connection = try PostgreSQLConnection.open(PostgreSQLLocation(schema.url), deadline: .soon)
            let isEarly = try connection.transaction(deadline: .soon) { connection throws(PostgreSQLError) in
                for sql in [
                    "SELECT 1 FROM \(schema.name).shard WHERE number = \(shard) FOR UPDATE",
                    """
                    INSERT INTO \(schema.name).command(
                        id, shard, turn, type, destination, created_at, idempotent, retry_limit, payload)
                    VALUES ('\(id)', \(shard), 1, 'noop', '', 0, true, 0, '{}')
                    """,
                ] {
                    _ = try connection.execute(PostgreSQLStatement(once: sql), deadline: .soon)
                }
                DispatchQueue.global().async {
                    let found = try? store.exist([id])
                    isMade.withLock { $0 = found }
                    isDone.signal()
                }
                return isDone.wait(timeout: .now() + .milliseconds(200)) == .success
            }
            isDone.wait()
            return (isEarly, isMade.withLock { $0 })
        }
        #expect(!isEarly && isMade == true)
    }

    @Test func `the commit of an execution that is not answered is unknown, and its repetition is done`() async throws {
        let rig = try await PostgreSQLRig()
        let proxy = try ServerProxy(to: .loopback(port: rig.server.port)) { connection in
            connection == 0 ? ProxyFault(.close, .commitAnswer) : nil
        }
        try await stopping(proxy) {
            let url = rig.server.url(port: proxy.port) + "?sslmode=disable"
            let (code, outcome, statuses) = try await schema { schema in
                let direct = try PostgreSQLStore(url: schema.url, schema: schema.name)
                let id = try direct.submit([.noop], allowUnknownTypes: false)[0].get().id
                try direct.open(Session(seat: 1, epoch: 7, pid: 1, startTime: 2, bootID: "boot"))
                let store = try PostgreSQLStore(url: url, schema: schema.name)
                let writes = [ExecutionWrite.claim(id, sent: true)]
                func commit(isRepetition: Bool) throws -> CommitOutcome {
                    try store.apply(
                        { writes }, group: store.commitGroup(of: 0), seat: 1, epoch: 7,
                        CommitAttempt(timeout: .seconds(10), isRepetition: isRepetition))
                }
                let error = try Self.error { _ = try commit(isRepetition: false) }
                let outcome = try commit(isRepetition: true)[0]
                return (error.code, outcome, try direct.timeline(id).map(\.status))
            }
            #expect(code == .unknown && statuses == [.new, .queued, .sent])
            guard case .claimed(let command, _, _, let transitions) = outcome else { throw Missed("\(outcome)") }
            #expect(command.claim == 1 && transitions.map(\.status) == [.queued, .sent])
        }
    }
}
