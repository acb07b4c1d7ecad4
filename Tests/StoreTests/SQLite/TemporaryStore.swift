import Commands
import Host
import TestSupport

@testable import Store

/// A store in a directory of its own.
final class TemporaryStore: Sendable {
    let directory: TemporaryDirectory
    let data: DataDirectory

    init(_ name: String = "sqlite") throws {
        directory = try TemporaryDirectory(name)
        data = DataDirectory(path: "\(directory.path)/data")
    }

    deinit { directory.remove() }

    /// A store with the tables of release 0.1.0.
    func firstRelease(shards: Int = 4) throws -> SQLiteStore {
        try data.createAsFirstRelease(shards: shards)
        return try store(shards: shards)
    }

    /// A store with a clock that the test sets.
    func store(shards: Int = 4, walLimit: Int64? = nil) throws -> SQLiteStore {
        try SQLiteStore(
            directory: data, create: true, shardCount: shards, clock: SettableClock(), vfs: nil, walLimit: walLimit)
    }
}

extension SQLiteStore {
    /// Opens every shard now. Unusable shards are skipped; see ``problems``.
    func openAll() throws(StoreError) {
        for shard in shards { try ifUsable { () throws(StoreError) in try shard.use { _ in } } }
    }

    /// The value of a pragma on the connection that writes.
    /// - Parameter ofCheckpointer: reads it on the connection that copies the WAL instead, which the first
    ///   checkpoint opens.
    func pragma(_ name: String, shard: Int, ofCheckpointer: Bool = false) throws(StoreError) -> String {
        let shard = try self.shard(shard)
        guard ofCheckpointer else {
            return try shard.use { connection throws(StoreError) in try connection.pragma(name) }
        }
        return try shard.useCheckpointer { connection throws(StoreError) in try connection.pragma(name) }
    }

    /// Submits `count` no-ops.
    func submitNoops(_ count: Int = 1) throws -> [CommandID] {
        try submit([CommandDraft](repeating: .noop, count: count), allowUnknownTypes: false)
            .map { try $0.get().id }
    }
}
