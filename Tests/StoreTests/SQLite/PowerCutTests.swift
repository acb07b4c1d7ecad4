import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing

/// A simulated power cut. The writes of a store are recorded with their syncs; then the disk is rebuilt as it may look
/// after a cut at any point (``RecordedDisk``). No acknowledged command may be missing after the cut.
@Suite struct PowerCutTests {
    @Test(.enabled(if: runsSlowTests, "slow"))
    func `no acknowledged command is missing after a power cut at any point`() throws {
        var random = SeededRandom.announced("power cut")
        let directory = try TemporaryDirectory("power")
        defer { directory.remove() }
        let data = DataDirectory(path: "\(directory.path)/data")
        try data.create(shardCount: 2)
        let before = try RecordedDisk(data)

        let vfs = RecordingVFS("power-cut")
        let promises = try Self.live(data, vfs, &random)
        let records = vfs.records
        #expect(records.count > 500)

        for _ in 0..<40 {
            let cut = random.number(in: 0..<records.count + 1)
            var disk = before
            disk.replay(records[..<cut], in: &random)
            let after = try disk.write(to: "\(directory.path)/after-\(cut)")
            let store = try SQLiteStore(directory: after, create: false)
            for shard in 0..<2 {
                #expect(try store.integrityCheck(shard: shard).isEmpty, "cut at \(cut) of \(records.count)")
            }
            for (id, status) in promises[..<disk.mark] {
                let timeline = try store.timeline(id).map(\.status)
                #expect(timeline.contains(status), "\(id) was \(status) before the cut at \(cut), and is \(timeline)")
            }
            try FileManager.default.removeItem(atPath: after.path)
        }
    }

    /// Submits and executes commands, with checkpoints in between, and marks each acknowledgement in the record.
    private static func live(
        _ data: DataDirectory, _ vfs: RecordingVFS, _ random: inout SeededRandom
    ) throws -> [(CommandID, CommandStatus)] {
        let store = try SQLiteStore(directory: data, create: false, shardCount: 2, vfs: vfs.name)
        try store.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 1, bootID: "boot"))
        var promises: [(CommandID, CommandStatus)] = []
        for round in 0..<40 {
            let drafts = [CommandDraft](repeating: .noop, count: random.number(in: 1..<20))
            let ids = try store.submit(drafts, allowUnknownTypes: false).map { try $0.get().id }
            promises += ids.map { ($0, .new) }
            vfs.mark(promises.count)
            for shard in 0..<2 {
                let mine = ids.filter { $0.shard(of: 2) == shard }
                _ = try store.apply(
                    mine.map { .claim($0, sent: true) }, shard: shard, seat: 1, epoch: 1)
                promises += mine.map { ($0, .sent) }
                vfs.mark(promises.count)
                _ = try store.apply(
                    mine.map { .end($0, claim: 1, .success(result: nil)) }, shard: shard, seat: 1, epoch: 1)
                promises += mine.map { ($0, .success) }
                vfs.mark(promises.count)
            }
            if round % 9 == 8 { _ = try store.checkpoint(shard: random.number(in: 0..<2)) }
        }
        return promises
    }

    @Test func `every acknowledgement follows a sync of the WAL`() throws {
        let directory = try TemporaryDirectory("sync")
        defer { directory.remove() }
        let data = DataDirectory(path: "\(directory.path)/data")
        try data.create(shardCount: 1)
        let vfs = RecordingVFS("sync-before-answer")
        let store = try SQLiteStore(directory: data, create: false, shardCount: 1, vfs: vfs.name)
        for number in 1...20 {
            _ = try store.submit([.noop], allowUnknownTypes: false)[0].get()
            vfs.mark(number)
        }
        var unsynced = 0
        var marks = 0
        for record in vfs.records {
            switch record {
            case .write(let file, _, _) where file.hasSuffix("-wal"): unsynced += 1
            case .sync(let file) where file.hasSuffix("-wal"): unsynced = 0
            case .mark:
                marks += 1
                #expect(unsynced == 0)
            case .write, .sync, .truncate: break
            }
        }
        #expect(marks == 20)
    }
}
