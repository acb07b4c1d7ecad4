import Commands
import Dispatch
import Host
import Synchronization
import TestSupport
import Testing

@testable import Store

/// The one data directory to which a store on a server belongs.
@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)), .postgreSQLServer)
struct PostgreSQLHostTests {
    private struct Rig: Sendable {
        let schema: PostgreSQLTestSchema
        let root: String

        func directory(_ name: String) throws -> DataDirectory {
            let directory = DataDirectory(path: "\(root)/\(name)")
            try directory.prepare()
            return directory
        }

        /// The store of a process that works in a data directory.
        func host(_ name: String) throws -> PostgreSQLStore {
            let store = try store()
            try store.bind(to: directory(name), begins: true)
            return store
        }

        func store() throws -> PostgreSQLStore { try PostgreSQLStore(url: schema.url, schema: schema.name) }
    }

    private func rig<Value: Sendable>(_ body: @escaping @Sendable (Rig) throws -> Value) async throws -> Value {
        let directory = try TemporaryDirectory("hosts")
        defer { directory.remove() }
        return try await BlockingPool.shared.run { () throws(any Error) in
            let schema = try PostgreSQLTestSchema(shardCount: 4)
            defer { schema.remove() }
            return try body(Rig(schema: schema, root: directory.path))
        }
    }

    private static func error(of body: () throws -> Void) -> StoreError? {
        do { try body() } catch { return error as? StoreError }
        return nil
    }

    @Test func `the next write of a host from which the store was moved is refused`() async throws {
        let (refusals, counts, moved) = try await rig { rig in
            let first = try rig.host("first")
            try first.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 1, bootID: "boot"))
            let id = try first.submit([.noop], allowUnknownTypes: false)[0].get().id
            let moved = try rig.store().moveHost(to: rig.directory("second"), force: true)
            let refusals = [
                Self.error { _ = try first.submit([.noop], allowUnknownTypes: false)[0].get() },
                Self.error {
                    _ = try first.apply(
                        { [.claim(id, sent: true)] }, group: first.commitGroup(of: 0), seat: 1, epoch: 1,
                        CommitAttempt(timeout: .seconds(10)))
                },
                Self.error { try first.record(types: ["another"]) },
                Self.error { try first.set([("key", "value")], timeout: .seconds(10)) },
                Self.error { try first.open(Session(seat: 2, epoch: 9, pid: 1, startTime: 1, bootID: "boot")) },
                Self.error { try first.close(seat: 1, epoch: 1) },
                Self.error { try first.reap(seat: 1, epoch: 1, DeathVerdict(charges: false, reason: "test")) { _ in } },
            ]
            let second = try rig.host("second")
            _ = try second.submit([.noop], allowUnknownTypes: false)[0].get()
            #expect(try second.sessionReading().sessions.map(\.seat) == [1])
            return (refusals, try second.counts(), moved)
        }
        #expect(moved?.contains("/first on ") == true)
        for refusal in refusals {
            #expect(refusal?.code == .moved)
            #expect(
                refusal?.message.contains("/second on ") == true && refusal?.message.contains("stop sluice") == true)
        }
        #expect(counts[.new] == 2)
    }

    @Test func `a move waits for the commits of the earlier host`() async throws {
        let (isMovedBefore, order) = try await rig { rig in
            let first = try rig.host("first")
            let order = Mutex<[String]>([])
            let mover = DispatchSemaphore(value: 0)
            let (directory, store) = (try rig.directory("second"), try rig.store())
            let isMovedBefore = try first.change(shard: 3) { shard throws(StoreError) in
                DispatchQueue.global().async {
                    _ = try? store.moveHost(to: directory, force: true)
                    order.withLock { $0.append("moved") }
                    mover.signal()
                }
                // The lock is held, so that the move cannot end before.
                let isMoved = mover.wait(timeout: .now() + .milliseconds(200)) == .success
                order.withLock { $0.append("committed") }
                return isMoved
            }.0
            mover.wait()
            return (isMovedBefore, order.withLock { $0 })
        }
        #expect(!isMovedBefore && order == ["committed", "moved"])
    }

    @Test func `a copy of a data directory cannot write beside it`() async throws {
        let (copied, refused) = try await rig { rig in
            let first = try rig.host("first")
            // A sign names the inode of its file, which a copy does not have.
            var connection = try PostgreSQLConnection.open(PostgreSQLLocation(rig.schema.url), deadline: .soon)
            let inode = try connection.run("SELECT inode FROM \(rig.schema.name).host").first { $0[0] as Int64 }
            guard let inode, inode != 0 else { return (false, StoreError?.none) }
            try connection.run("UPDATE \(rig.schema.name).host SET inode = inode + 1")
            return (true, Self.error { _ = try first.submit([.noop], allowUnknownTypes: false)[0].get() })
        }
        guard copied else { return }
        #expect(refused?.code == .moved)
    }
}
