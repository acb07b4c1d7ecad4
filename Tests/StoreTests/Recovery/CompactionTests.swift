import Commands
import Foundation
import Host
import TestSupport
import Testing

@testable import Store

@Suite struct CompactionTests {
    @Test func `a compaction gives the room of pruned commands back, and keeps the others`() throws {
        let rig = try RecoveryRig(shards: 2)
        let kept = try {
            let store = try rig.store()
            try store.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 1, bootID: ""))
            let large = CommandDraft.noop.with {
                $0.payload = Array("\"\(String(repeating: "x", count: 20_000))\"".utf8)
            }
            let ids = try store.submit(
                [CommandDraft](repeating: large, count: 400), allowUnknownTypes: false, now: .base
            ).map { try $0.get().id }
            for shard in 0..<2 {
                let mine = ids.filter { $0.shard(of: 2) == shard }
                _ = try store.apply(
                    mine.map { .claim($0, sent: true) } + mine.map { .end($0, claim: 1, .success(result: nil)) },
                    shard: shard, seat: 1, epoch: 1, now: .base, timeout: .seconds(10))
                while try store.prune(
                    shard: shard, before: .base + .seconds(1), statuses: [.success], limit: 100
                ).count > 0 {}
            }
            return try store.submitNoops(100)
        }()
        let compaction = try Compaction(rig.data)
        for shard in 0..<2 {
            let (before, after) = try compaction.run(shard: shard)
            #expect(before > 2 << 20 && after < 1 << 20, "\(before) to \(after)")
        }
        #expect(throws: StoreError.self) { try rig.store().counts() }
        _ = consume compaction
        let store = try rig.store()
        for id in kept { #expect(try store.command(id) != nil) }
        #expect(try store.counts()[.new] == 100)
        for shard in 0..<2 { #expect(try store.integrityCheck(shard: shard).isEmpty) }
        _ = try store.submitNoops(10)
        #expect(try rig.files().allSatisfy { !$0.contains("compacting") })
    }

    @Test func `a compaction is refused while the store is in use, and for a backup`() throws {
        let rig = try RecoveryRig()
        let store = try rig.store()
        try rig.back(up: store)
        let error = #expect(throws: StoreError.self) { _ = try Compaction(rig.data) }
        #expect(error?.code == .busy)
        let backup = #expect(throws: StoreError.self) { _ = try Compaction(rig.backup).run(shard: 0) }
        #expect(backup?.code == .backup)
        #expect(FileManager.default.fileExists(atPath: rig.backup.shard(0)))
    }
}
