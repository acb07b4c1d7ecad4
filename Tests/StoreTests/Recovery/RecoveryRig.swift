import Commands
import Foundation
import Host
import TestSupport
import Testing

@testable import Store

/// A store, its backup, and the restore of it.
struct RecoveryRig {
    let fixture: TemporaryStore
    let backup: DataDirectory

    init(shards: Int = 4) throws {
        fixture = try TemporaryStore("recovery")
        backup = DataDirectory(path: "\(fixture.directory.path)/backup")
        _ = try fixture.store(shards: shards)
    }

    var data: DataDirectory { fixture.data }

    /// The store, with a clock that the test sets.
    func store() throws -> SQLiteStore {
        try SQLiteStore(directory: data, create: false, clock: SettableClock())
    }

    /// Makes the backup.
    func back(up store: SQLiteStore) throws {
        #expect(try store.backup(to: backup.path) { _ in }.isEmpty)
    }

    @discardableResult
    func restore(
        from source: DataDirectory? = nil, to target: DataDirectory? = nil, shard: Int? = nil
    ) throws(StoreError) -> RestoreResult {
        let restore = try Restore(of: source ?? backup, to: target ?? data, shard: shard)
        let result = try restore.prepare { _ in }
        try restore.replaceShards()
        try restore.finish()
        return result
    }

    /// The rows of a table of a shard.
    func number(_ sql: String, shard: Int) throws -> Int { try SQLiteProbe(data.shard(shard)).number(sql) }

    func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: data.path).filter { $0.hasPrefix("shard") }.sorted()
    }
}
