import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing

/// Several processes write, read and checkpoint one shard at once, as fast as they can. Afterwards every
/// acknowledged command must be there, and integrity_check must pass. With unguarded checkpoints, SQLite before 3.51.3
/// damaged the file in 18 of 20 rounds.
///
/// `SLUICE_TORTURE_ROUNDS` sets the number of rounds: 2 by default, 100 or more for a long run.
@Suite(.serialized) struct CheckpointTortureTests {
    /// Environment variables that tell a child process of this test its role and its data directory.
    private static let roleVariable = "SLUICE_TORTURE_ROLE"
    private static let dataVariable = "SLUICE_TORTURE_DATA"
    private static let seconds = 0.7

    private static var environment: [String: String] { ProcessInfo.processInfo.environment }

    @Test(.enabled(if: CheckpointTortureTests.environment[CheckpointTortureTests.roleVariable] == nil))
    func `checkpoints that race with writers and readers of other processes damage nothing`() async throws {
        let rounds = Self.environment["SLUICE_TORTURE_ROUNDS"].flatMap { Int($0) } ?? 2
        var commits = 0
        var others = 0
        for round in 1...max(rounds, 1) {
            let directory = try TemporaryDirectory("torture")
            defer { directory.remove() }
            let data = DataDirectory(path: "\(directory.path)/data")
            try data.create(shardCount: 1)
            let roles = ["writer-1", "writer-2", "checkpointer-1", "checkpointer-2", "reader"]
            let children = try roles.map { role in
                try ChildProcess(
                    ["/proc/self/exe", "--testing-library", "swift-testing", "--filter", "TortureChild"],
                    environment: [Self.roleVariable: role, Self.dataVariable: data.path],
                    log: "\(directory.path)/\(role)")
            }
            for (role, child) in zip(roles, children) {
                let end = try await child.end(within: .seconds(120))
                #expect(end == .exited(0), "round \(round), \(role): \(child.output)\(child.errors)")
            }
            let store = try SQLiteStore(directory: data, create: false)
            #expect(try store.integrityCheck(shard: 0).isEmpty, "round \(round)")
            for other in ["checkpointer-1", "checkpointer-2", "reader"] {
                let ledger = try #require(contents(of: "\(data.path)/\(other).ledger"), "round \(round), \(other)")
                others += String(decoding: ledger, as: UTF8.self).split(separator: "\n").count
            }
            for writer in ["writer-1", "writer-2"] {
                let ledger = try #require(contents(of: "\(data.path)/\(writer).ledger"), "round \(round), \(writer)")
                let lines = String(decoding: ledger, as: UTF8.self).split(separator: "\n")
                #expect(!lines.isEmpty)
                commits += lines.count
                for line in lines {
                    let id = try #require(CommandID(line))
                    let status = try store.command(id)?.status
                    #expect(status == .success, "round \(round): acknowledged \(id) is \(status?.name ?? "missing")")
                }
            }
        }
        print(
            "checkpoint torture: \(rounds) rounds, \(commits) acknowledged commands, none missing; \(others) checkpoints and "
                + "readings beside them")
    }

    /// A child process of the test above. It does nothing in an ordinary run.
    @Test(.enabled(if: CheckpointTortureTests.environment[CheckpointTortureTests.roleVariable] != nil))
    func `TortureChild`() async throws {
        let role = try #require(Self.environment[Self.roleVariable])
        let data = DataDirectory(path: try #require(Self.environment[Self.dataVariable]))
        try await BlockingPool.shared.run { () throws(StoreError) in
            let store = try SQLiteStore(directory: data, create: false)
            let end = ContinuousClock.now + .seconds(Self.seconds)
            switch role.prefix(while: { $0 != "-" }) {
            case "writer": try Self.write(store, until: end, ledger: "\(data.path)/\(role).ledger")
            case "checkpointer":
                try Self.repeating(until: end, ledger: "\(data.path)/\(role).ledger") { () throws(StoreError) in
                    do throws(StoreError) { _ = try store.checkpoint(shard: 0) } catch {
                        // The lock was held for longer than the timeout; a coordinator tries again, too.
                        guard error.code == .busy else { throw error }
                    }
                }
            default:
                try Self.repeating(until: end, ledger: "\(data.path)/\(role).ledger") { () throws(StoreError) in
                    _ = try store.list(CommandFilter(), after: nil, limit: 1000)
                    _ = try store.events(shard: 0, after: 0, limit: 5000)
                }
            }
        }
    }

    /// Repeats `body` until the time is over, at least once, and writes a line each time.
    private static func repeating(
        until end: ContinuousClock.Instant, ledger: String, _ body: () throws(StoreError) -> Void
    ) throws(StoreError) {
        var lines = ""
        repeat {
            try body()
            lines += "done\n"
        } while ContinuousClock.now < end
        try? Data(lines.utf8).write(to: URL(fileURLWithPath: ledger))
    }

    private static func write(
        _ store: SQLiteStore, until end: ContinuousClock.Instant, ledger: String
    ) throws(StoreError) {
        var lines = ""
        let epoch = Int64(ProcessInfo.processInfo.processIdentifier)
        try store.open(Session(seat: Int(epoch), epoch: epoch, pid: 0, startTime: 0, bootID: ""))
        // At least once: on a busy machine the time may be over before this begins.
        repeat {
            var ids: [CommandID] = []
            for result in store.submit([.noop, .noop, .noop], allowUnknownTypes: false) {
                ids.append(try result.get().id)
            }
            let claims = ids.map { ExecutionWrite.claim($0, sent: true) }
            _ = try store.apply(claims, shard: 0, seat: Int(epoch), epoch: epoch)
            let ends = ids.map { ExecutionWrite.end($0, claim: 1, .success(result: nil)) }
            _ = try store.apply(ends, shard: 0, seat: Int(epoch), epoch: epoch)
            for id in ids { lines += "\(id)\n" }
        } while ContinuousClock.now < end
        try? Data(lines.utf8).write(to: URL(fileURLWithPath: ledger))
    }
}
