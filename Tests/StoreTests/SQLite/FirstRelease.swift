import Commands
import Foundation
import Host
import TestSupport

@testable import Store

extension DataDirectory {
    /// Makes a store with the tables of release 0.1.0.
    func createAsFirstRelease(shards: Int) throws {
        try create(shardCount: shards)
        for shard in 0..<shards {
            let path = self.shard(shard)
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
            try Data().write(to: URL(fileURLWithPath: path))
            let probe = try SQLiteProbe(path)
            try probe.run("PRAGMA journal_mode = WAL")
            try probe.run(Schema.base)
            try probe.run(Schema.contents(shard: shard, of: shards, store: "test", types: CommandType.builtIn))
            try probe.run("PRAGMA application_id = \(Schema.applicationID); PRAGMA user_version = 2")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        }
    }
}
