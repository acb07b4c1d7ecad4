import Commands
import Host
import TestSupport
import Testing

@testable import Store

/// A server that is put back to an earlier moment: a copy of its files that lacks what came later, on a new timeline.
@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)))
struct PostgreSQLRestoredTests {
    private struct Claims: Sendable {
        var repeatable: CommandID
        var once: CommandID
        var queued: CommandID
        /// Claimed after the moment.
        var later: CommandID
    }

    private static let worker: (seat: Int, epoch: Int64) = (1, 11)
    private static let next: (seat: Int, epoch: Int64) = (1, 22)

    /// Claims before and after the moment to which the copy belongs.
    private func restored(
        _ body: @escaping @Sendable (PostgreSQLStore, Claims) throws -> Void
    ) async throws {
        let original = try await PostgreSQLServer()
        let copy = try await PostgreSQLServer(standbyOf: original)
        try await stopping(original, copy) {
            let commands = try await BlockingPool.shared.run { () throws(any Error) in
                try PostgreSQLStore.create(url: original.socketURL(), shardCount: 4)
                let store = try PostgreSQLStore(url: original.socketURL())
                try store.open(Self.session(Self.worker))
                let once = CommandDraft.noop.with { $0.idempotent = false }
                let ids = try store.submit([.noop, once, .noop, .noop], allowUnknownTypes: false).map {
                    try $0.get().id
                }
                let commands = Claims(repeatable: ids[0], once: ids[1], queued: ids[2], later: ids[3])
                try Self.apply(
                    [
                        .claim(commands.repeatable, sent: true), .claim(commands.once, sent: true),
                        .claim(commands.queued, sent: false),
                    ], Self.worker, store)
                return commands
            }
            try await cut(copy, from: original)
            try await BlockingPool.shared.run { () throws(any Error) in
                let store = try PostgreSQLStore(url: original.socketURL())
                try Self.apply(
                    [.end(commands.once, claim: 1, .success(result: nil)), .claim(commands.later, sent: true)],
                    Self.worker, store)
            }
            try await PostgreSQLRig(server: copy).connected(copy.standbyURL) { connection in
                _ = try connection.run("SELECT pg_promote(true)")
            }
            try await BlockingPool.shared.run { () throws(any Error) in
                try body(PostgreSQLStore(url: copy.socketURL()), commands)
            }
        }
    }

    /// Waits until the copy has all that the original has, and lets it receive nothing more.
    private func cut(_ copy: PostgreSQLServer, from original: PostgreSQLServer) async throws {
        let position = try await PostgreSQLRig(server: original).connected { connection in
            try connection.run("SELECT pg_current_wal_lsn()::text").first { row in row[0] as String }
        }
        let rig = PostgreSQLRig(server: copy)
        try await until("the copy of all rows") {
            try await rig.connected(copy.standbyURL) { connection in
                let sql = "SELECT pg_last_wal_replay_lsn() >= '\(position ?? "")'::pg_lsn"
                return try connection.run(sql).first { row in row[0] as Bool } == true
            }
        }
        try await rig.connected(copy.standbyURL) { connection in
            try connection.run("ALTER SYSTEM SET primary_conninfo = ''")
            try connection.run("SELECT pg_reload_conf()")
        }
        try await until("the end of the replication") {
            try await rig.connected(copy.standbyURL) { connection in
                try connection.run("SELECT 1 FROM pg_stat_wal_receiver").count == 0
            }
        }
    }

    private static func session(_ worker: (seat: Int, epoch: Int64)) -> Session {
        Session(seat: worker.seat, epoch: worker.epoch, pid: 1, startTime: 1, bootID: "boot")
    }

    @discardableResult
    private static func apply(
        _ writes: [ExecutionWrite], _ worker: (seat: Int, epoch: Int64), _ store: PostgreSQLStore
    ) throws -> [ExecutionOutcome] {
        Array(
            try store.apply(
                { writes }, group: store.commitGroup(of: 0), seat: worker.seat, epoch: worker.epoch,
                CommitAttempt(timeout: .seconds(10))))
    }

    @Test func `what was claimed at that moment is released or in doubt, and no worker of before goes on`() async throws
    {
        try await restored { store, commands in
            #expect(try store.command(commands.once)?.status == .sent)
            #expect(try store.settleRestored() == [.new: 2, .inDoubt: 1])
            #expect(try store.command(commands.once)?.status == .inDoubt)
            for id in [commands.repeatable, commands.queued] {
                let command = try store.command(id)
                #expect(command?.status == .new && command?.crashes == 0)
            }
            let late = try Self.apply(
                [
                    .end(commands.once, claim: 1, .success(result: nil)), .sent(commands.queued, claim: 1),
                    .claim(commands.repeatable, sent: true),
                ], Self.worker, store)
            #expect(late == [.replaced, .replaced, .refused])
            #expect(try store.sessionReading().sessions.isEmpty)
            #expect(try store.settleRestored().isEmpty)
        }
    }

    @Test func `a claim with a number that was given before is not that of its first worker`() async throws {
        try await restored { store, commands in
            try store.open(Self.session(Self.next))
            guard
                case .claimed(let command, _, _, _) = try Self.apply(
                    [.claim(commands.later, sent: true)], Self.next, store)[0]
            else { throw Missed("the command cannot be claimed") }
            #expect(command.claim == 1)
            let end = ExecutionWrite.end(commands.later, claim: 1, .success(result: nil))
            #expect(try Self.apply([end], Self.worker, store) == [.replaced])
            #expect(try store.command(commands.later)?.status == .sent)
            guard case .done = try Self.apply([end], Self.next, store)[0] else { throw Missed("the end is refused") }
        }
    }

    @Test func `the spool is compared with the rows once`() async throws {
        try await restored { store, _ in
            #expect(try !store.isOlderThanSpool(shard: 0))
            _ = try store.settleRestored()
            for shard in 0..<4 { #expect(try store.isOlderThanSpool(shard: shard)) }
            for shard in 0..<4 { try store.noteSpoolCompared(shard: shard) }
            #expect(try !store.isOlderThanSpool(shard: 3))
        }
    }
}
