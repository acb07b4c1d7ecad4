import Foundation
import TestSupport

/// The lock of a shard, held by a program that is not Sluice.
struct ShardLock {
    private let probe: SQLiteProbe?
    private let session: ChildProcess?

    /// Locks a shard of the store of an installation.
    init(_ shard: Int, of installation: Installation) async throws {
        guard let store = installation.serverStore else {
            let probe = try SQLiteProbe("\(installation.data)/shard-0\(shard).sqlite")
            try probe.run("BEGIN IMMEDIATE")
            (self.probe, session) = (probe, nil)
            return
        }
        // The server looks each 100 ms whether psql still runs.
        let sql = """
            SET client_connection_check_interval = 100;
            BEGIN;
            SELECT 'shard ' || number FROM \(store.schema).shard WHERE number = \(shard) FOR UPDATE;
            SELECT pg_sleep(600);

            """
        guard let psql = program("psql") else { throw Missed("psql is not installed") }
        let session = try installation.start(
            program: psql, ["-X", "-q", "-A", "-t", store.server.socketURL()], input: Array(sql.utf8))
        try await until("the lock") {
            if session.ending != nil { throw Missed("psql ended: \(session.errors)") }
            return session.output.contains("shard \(shard)\n")
        }
        (probe, self.session) = (nil, session)
    }

    func release() async throws {
        try probe?.run("ROLLBACK")
        session?.signal(SIGKILL)
        _ = await session?.end
    }
}
