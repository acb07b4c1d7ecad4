import CLinux
import Commands
import Foundation
import Host
import TestSupport
import Testing

@testable import Store

/// The store as files: their modes, versions, creation and indices.
@Suite struct SQLiteStoreTests {
    private static func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.posixPermissions] as? Int ?? 0) & 0o777
    }

    /// The shards of a store that this process has open.
    private static func openShards(_ data: DataDirectory) throws -> Set<String> {
        var open: Set<String> = []
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
            else { continue }
            if target.hasPrefix(data.path), target.hasSuffix(".sqlite") { open.insert(target) }
        }
        return open
    }

    // MARK: Files

    @Test func `every writing connection has WAL, full sync and no automatic checkpoint`() throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store()
        _ = try store.submitNoops(50)
        let wanted = [
            "journal_mode": "wal", "synchronous": "2", "wal_autocheckpoint": "0", "mmap_size": "0",
            "secure_delete": "0", "temp_store": "2", "trusted_schema": "0", "journal_size_limit": "67108864",
            "foreign_keys": "0",
        ]
        for shard in 0..<4 {
            #expect(throws: StoreError.self) { try store.pragma("synchronous", shard: shard, ofCheckpointer: true) }
            _ = try store.checkpoint(shard: shard)
            for (name, value) in wanted {
                #expect(try store.pragma(name, shard: shard) == value, "\(name)")
                #expect(try store.pragma(name, shard: shard, ofCheckpointer: true) == value, "\(name), checkpointer")
            }
        }
    }

    @Test func `directories and files are private to their user`() throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store()
        try store.openAll()
        _ = try store.submitNoops(50)
        for path in fixture.data.directories {
            #expect(try Self.mode(path) == 0o700)
        }
        for shard in 0..<4 {
            for suffix in ["", "-wal", "-shm"] { #expect(try Self.mode(fixture.data.shard(shard) + suffix) == 0o600) }
        }
    }

    @Test(arguments: ["", "/run", "/spool", "/keys"])
    func `a directory that is open to others is refused by name`(_ name: String) throws {
        let fixture = try TemporaryStore()
        _ = try fixture.store()
        let path = fixture.data.path + name
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        let error = try #require(throws: StoreError.self) { try fixture.store() }
        #expect(error.code == .permission)
        #expect(error.message.contains("\(path) ") && error.message.contains("0755"))
    }

    @Test func `a shard that is open to others is refused by name`() throws {
        let fixture = try TemporaryStore()
        let path = fixture.data.shard(2)
        let store = try fixture.store()
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        let error = try #require(throws: StoreError.self) { try store.openAll() }
        #expect(error.code == .permission && error.message.contains(path))
    }

    @Test func `an id names its shard, and a store opens only the shards that it needs`() throws {
        let fixture = try TemporaryStore()
        let ids = try fixture.store(shards: 8).submitNoops(200)
        let store = try SQLiteStore(directory: fixture.data, create: false)
        #expect(store.shardCount == 8)
        #expect(try Self.openShards(fixture.data).isEmpty)
        #expect(try store.command(ids[0]) != nil)
        #expect(try Self.openShards(fixture.data) == [fixture.data.shard(ids[0].shard(of: 8))])
        try store.openAll()
        #expect(try Self.openShards(fixture.data).count == 8)
        for shard in 0..<8 {
            let probe = try SQLiteProbe(fixture.data.shard(shard))
            let bytes = try probe.texts("SELECT DISTINCT hex(substr(id, 16)) FROM command")
            #expect(bytes.allSatisfy { (Int($0, radix: 16) ?? -1) % 8 == shard })
            #expect(try probe.text("SELECT value FROM meta WHERE key = 'shards'") == "8")
            #expect(try probe.number("PRAGMA user_version") == 2)
            #expect(try probe.text("SELECT value FROM meta WHERE key = 'version'") == "3")
        }
    }

    @Test func `a path of 200 bytes with special characters works`() throws {
        let temporary = try TemporaryDirectory("long")
        defer { temporary.remove() }
        // The accent combines with the question mark to one character.
        let name = "50% ?a=b#c ü ?\u{301}&\t" + String(repeating: "x", count: 190)
        let data = DataDirectory(path: "/\(temporary.path)/deep/er/\(name)")
        #expect(data.path.hasPrefix("//"))
        let store = try SQLiteStore(directory: data, shardCount: 2)
        let ids = try store.submitNoops(10)
        let again = try SQLiteStore(directory: data, create: false)
        #expect(try again.command(ids[3]) == (try store.command(ids[3])))
        #expect(try data.shards() == [0, 1])
    }

    @Test func `threads and processes that create a store at once create one`() async throws {
        let fixture = try TemporaryStore()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await BlockingPool.shared.run { () throws(StoreError) in
                        let store = try SQLiteStore(directory: fixture.data, shardCount: 4)
                        for result in store.submit([.noop, .noop], allowUnknownTypes: false) {
                            _ = try result.get()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try fixture.store().counts()[.new] == 16)
    }

    @Test func `an interrupted creation is repeated`() throws {
        let fixture = try TemporaryStore()
        _ = try fixture.store().submitNoops(5)
        // The state after the creating process was killed between two shards.
        try FileManager.default.removeItem(atPath: fixture.data.shard(3))
        try Data().write(to: URL(fileURLWithPath: fixture.data.run.creating))
        let error = try #require(throws: StoreError.self) { try SQLiteStore(directory: fixture.data, create: false) }
        #expect(error.code == .missing)
        let store = try fixture.store()
        #expect(store.shardCount == 4)
        _ = try store.submitNoops(5)
        #expect(try store.counts()[.new] == 5)
    }

    // MARK: Queries

    @Test func `the hot queries use the indices that are meant for them`() throws {
        let fixture = try TemporaryStore()
        _ = try fixture.store(shards: 1).submitNoops(100)
        let probe = try SQLiteProbe(fixture.data.shard(0))
        let plans = [
            (
                "SELECT id FROM command WHERE destination = '' AND qos = 2 AND status IN (0, 3) AND not_before = 0 "
                    + "AND turn > 5 ORDER BY turn LIMIT 10", "INDEX command_ready (destination=? AND qos=? AND rowid>?)"
            ),
            (
                "SELECT id FROM command WHERE rate_limit = 'a' AND destination = '' AND qos = 2 AND status IN (0, 3) "
                    + "AND not_before < 0 AND turn > 5 ORDER BY turn LIMIT 10",
                "INDEX command_limited (rate_limit=? AND destination=? AND qos=? AND rowid>?)"
            ),
            (
                "SELECT rate_limit, destination, qos FROM command WHERE status IN (0, 3) AND not_before < 0 "
                    + "AND rate_limit > 'a' ORDER BY rate_limit, destination, qos LIMIT 1",
                "INDEX command_limited (rate_limit>?)"
            ),
            (
                "SELECT rate_limit, count(*) FROM command WHERE status IN (0, 3) AND not_before < 0 GROUP BY rate_limit",
                "INDEX command_limited"
            ),
            ("SELECT min(not_before) FROM command WHERE not_before > 0", "COVERING INDEX command_held_back"),
            (
                "SELECT min(open_deadline) FROM command WHERE open_deadline IS NOT NULL",
                "COVERING INDEX command_deadline"
            ),
            (
                "SELECT id FROM command WHERE status IN (1, 2) AND seat = 1 AND epoch = 2",
                "INDEX command_in_flight (seat=? AND epoch=?)"
            ),
            (
                "SELECT id FROM command WHERE type = 'a' AND ifnull(ordering_key, '') = '' AND unique_key = 'k' "
                    + "AND unique_key IS NOT NULL AND key_is_free = 0", "INDEX command_unique"
            ),
        ]
        for (sql, index) in plans {
            let plan = try probe.plan(sql)
            #expect(plan.contains(index), "\(sql): \(plan)")
            #expect(!plan.contains("TEMP B-TREE"), "\(sql): \(plan)")
        }
    }

    @Test func `the search for ready commands takes steps that do not grow with the backlog`() throws {
        let fixture = try TemporaryStore()
        _ = try fixture.store(shards: 1).submitNoops(5000)
        let probe = try SQLiteProbe(fixture.data.shard(0))
        for quality in [-1, Commands.QualityOfService.default.rawValue] {
            let sql = Query.readyKeyAfter.sql(version: Schema.version).replacingOccurrences(of: "?1", with: "''")
                .replacingOccurrences(of: "?2", with: "\(quality)")
            #expect(try probe.steps(sql) < 200)
        }
    }
}
