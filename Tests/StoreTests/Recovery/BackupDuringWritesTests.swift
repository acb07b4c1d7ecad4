import Commands
import Foundation
import Host
import Synchronization
import TestSupport
import Testing

@testable import Store

/// Backups of large shards while other processes write and checkpoint.
@Suite struct BackupDuringWritesTests {
    private final class Flag: Sendable { let value = Atomic<Bool>(false) }

    private static let large = CommandDraft.noop.with {
        $0.payload = Array("\"\(String(repeating: "x", count: 900_000))\"".utf8)
    }

    @Test func `checkpoints make progress during a backup, and the WAL stays short`() throws {
        let rig = try RecoveryRig(shards: 1)
        let store = try rig.store()
        let writer = try rig.store()
        for _ in 0..<40 { _ = try store.submit([Self.large], allowUnknownTypes: false)[0].get() }
        _ = try store.checkpoint(shard: 0)
        var acknowledged: [CommandID] = []
        var slices = 0
        var remaining: [Int64] = []
        var largest: Int64 = 0
        _ = try store.backup(to: rig.backup.path) { progress in
            guard !progress.isDone else { return }
            slices += 1
            // Each slice of 1 MB sees 2 MB of commits, which change pages before and behind it.
            for _ in 0..<2 {
                let submitted = writer.submit([Self.large], allowUnknownTypes: false)
                if let id = try? submitted[0].get().id { acknowledged.append(id) }
            }
            if let left = try? writer.checkpoint(shard: 0) { remaining.append(left) }
            largest = max(largest, FileState(walOf: rig.data.shard(0)).bytes)
        }
        #expect(slices > 30 && acknowledged.count == 2 * slices)
        #expect(remaining.count == slices && remaining.allSatisfy { $0 == 0 }, "\(remaining)")
        // A transaction over the whole backup would keep all that was written: 65 MB beside the 36 MB of before.
        #expect(largest < 40 << 20, "\(largest >> 20) MB")
        #expect(!FileManager.default.fileExists(atPath: rig.data.run.changes(shard: 0)))

        let copy = try SQLiteStore(directory: rig.backup, create: false)
        for id in acknowledged { #expect(try copy.payload(id)?.count == Self.large.payload.count) }
        #expect(try copy.counts()[.new] == 40 + acknowledged.count)
        #expect(try copy.integrityCheck(shard: 0).isEmpty)
    }

    @Test func `a shard is copied without a transaction over the whole copy`() throws {
        let rig = try RecoveryRig(shards: 1)
        let store = try rig.store()
        _ = try store.submitNoops(5000)
        let path = "\(rig.fixture.directory.path)/copy.sqlite"
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        var isSliced = false
        #expect(
            try ShardCopy(store.shards[0], to: path).run { _ in
                isSliced = true
                _ = try? store.submitNoops(100)
            })
        #expect(isSliced)
        let probe = try SQLiteProbe(path)
        #expect(try probe.text("PRAGMA integrity_check") == "ok")
        #expect(try probe.number("SELECT count(*) FROM command") == store.counts()[.new])
    }

    @Test(.timeLimit(.minutes(2)))
    func `each backup of a store under load is the state of one moment`() async throws {
        var random = SeededRandom.announced("backup under load")
        let rig = try RecoveryRig(shards: 2)
        let store = try rig.store()
        _ = try store.submitNoops(20_000)
        let isOver = Flag()
        let (data, backup) = (rig.data, rig.backup)
        let count = random.number(in: 1..<50)
        let load = (0..<2).map { number in
            Task {
                try await BlockingPool.shared.run { () throws(StoreError) in
                    let store = try SQLiteStore(directory: data, create: false)
                    let (seat, epoch) = (number, Int64(number + 1))
                    for shard in 0..<2 {
                        try store.open(
                            Session(seat: seat, epoch: epoch, pid: 1, startTime: 1, bootID: ""), shard: shard)
                    }
                    while !isOver.value.load(ordering: .relaxed) {
                        let drafts = [CommandDraft](repeating: .noop, count: count)
                        var ids: [CommandID] = []
                        for result in store.submit(drafts, allowUnknownTypes: false) {
                            ids.append(try result.get().id)
                        }
                        for shard in 0..<2 {
                            let mine = ids.filter { $0.shard(of: 2) == shard }
                            _ = try store.apply(
                                mine.map { .claim($0, sent: true) }, shard: shard, seat: seat, epoch: epoch,
                                timeout: .seconds(10))
                        }
                        if number == 0 { _ = try store.checkpoint(shard: Int(ids[0].low & 1)) }
                    }
                }
            }
        }
        for round in 0..<6 {
            let target = DataDirectory(path: "\(backup.path)-\(round)")
            #expect(
                try await BlockingPool.shared.run { () throws(StoreError) in
                    try store.backup(to: target.path) { _ in }.count
                } == 0)
            let copy = try SQLiteStore(directory: target, create: false)
            let counts = try copy.counts()
            for shard in 0..<2 { #expect(try copy.integrityCheck(shard: shard).isEmpty) }
            var rows: [CommandStatus: Int] = [:]
            for shard in 0..<2 {
                let probe = try SQLiteProbe(target.shard(shard))
                for status in CommandStatus.allCases {
                    rows[status, default: 0] += try probe.number(
                        "SELECT count(*) FROM command WHERE status = \(status.rawValue)")
                }
                // The audit trail is complete: each command has as many transitions as its status says.
                let expected = try probe.number("SELECT sum(iif(status = 2, 3, 1)) FROM command")
                #expect(try probe.number("SELECT count(*) FROM transition") == expected)
            }
            for status in CommandStatus.allCases { #expect(counts[status] == rows[status]) }
        }
        isOver.value.store(true, ordering: .relaxed)
        for task in load { try await task.value }
    }

    @Test func `a second backup of the same store at the same time is complete too`() throws {
        let rig = try RecoveryRig(shards: 1)
        let store = try rig.store()
        let ids = try store.submitNoops(5000)
        let second = DataDirectory(path: "\(rig.backup.path)-2")
        var isNested = false
        _ = try store.backup(to: rig.backup.path) { progress in
            guard !isNested, !progress.isDone else { return }
            isNested = true
            #expect((try? store.backup(to: second.path) { _ in })?.isEmpty == true)
        }
        #expect(isNested)
        for target in [rig.backup, second] {
            let copy = try SQLiteStore(directory: target, create: false)
            #expect(try copy.counts()[.new] == ids.count && copy.integrityCheck(shard: 0).isEmpty)
        }
    }

    @Test func `the pages of a backup that was killed are not recorded any more`() throws {
        let rig = try RecoveryRig(shards: 1)
        let store = try rig.store()
        _ = try store.submitNoops(10)
        let path = rig.data.run.changes(shard: 0)
        #expect(FileManager.default.createFile(atPath: path, contents: Data([1, 2, 3, 4])))
        _ = try store.checkpoint(shard: 0)
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
