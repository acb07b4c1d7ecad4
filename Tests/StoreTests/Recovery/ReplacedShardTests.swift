import Commands
import Foundation
import Host
import TestSupport
import Testing

@testable import Store

/// A shard whose file a person replaces while processes use it.
@Suite struct ReplacedShardTests {
    @Test(arguments: ["removed", "replaced"])
    func `writers and checkpoints of a replaced shard stop, and the message names the remedy`(_ kind: String) throws {
        let rig = try RecoveryRig()
        let store = try rig.store()
        _ = try store.submitNoops(200)
        try rig.back(up: store)
        let path = rig.data.shard(2)
        try FileManager.default.removeItem(atPath: path)
        if kind == "replaced" { try FileManager.default.copyItem(atPath: rig.backup.shard(2), toPath: path) }
        func stops(_ body: () throws(StoreError) -> Void) {
            let error = #expect(throws: StoreError.self) { try body() }
            #expect(error?.code == .foreign && error?.shard == 2)
            #expect(error?.message.contains("run “sluice restore DIR --shard 2”") == true, "\(error!)")
        }
        stops { () throws(StoreError) in
            try store.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 1, bootID: ""), shard: 2)
        }
        stops { () throws(StoreError) in _ = try store.checkpoint(shard: 2) }
        // The commands of the others go on.
        let ids = try store.submitNoops(100)
        #expect(ids.allSatisfy { $0.shard(of: 4) != 2 })
        #expect(store.problems.map(\.shard) == [2])
        if kind == "replaced" {
            // A connection that this process opens later is to another file.
            #expect(contents(of: path) == contents(of: rig.backup.shard(2)))
        }
    }

    @Test func `another file of the same shard is not read together with the first`() throws {
        let rig = try RecoveryRig(shards: 1)
        let store = try rig.store()
        _ = try store.submitNoops(10)
        _ = try store.checkpoint(shard: 0)
        let path = rig.data.shard(0)
        // A copy with another id, as of another restore, without the files of the WAL.
        try FileManager.default.moveItem(atPath: path, toPath: path + ".old")
        try FileManager.default.copyItem(atPath: path + ".old", toPath: path)
        for suffix in ["-wal", "-shm"] { try FileManager.default.removeItem(atPath: path + suffix) }
        try SQLiteProbe(path).run("UPDATE meta SET value = 'other' WHERE key = 'id'")
        let error = #expect(throws: StoreError.self) { try store.integrityCheck(shard: 0) }
        #expect(error?.code == .foreign)
    }
}
