import Commands
import Foundation
import Host
import TestSupport
import Testing

@testable import Store

/// `sluice restore`, in one process: what it puts back, what it settles, and what it refuses.
@Suite struct RestoreTests {
    // MARK: Contents

    @Test func `a restore puts the commands of the backup back, and those submitted later are gone`() throws {
        let rig = try RecoveryRig()
        let (kept, later) = try {
            let store = try rig.store()
            let kept = try store.submitNoops(100)
            try store.set("pause.*.*", to: "now")
            try rig.back(up: store)
            let later = try store.submitNoops(100)
            try store.set("pause.*.*", to: nil)
            return (kept, later)
        }()
        let result = try rig.restore()
        #expect(result.shards == [0, 1, 2, 3] && result.settled.isEmpty)
        let store = try rig.store()
        for id in kept { #expect(try store.command(id)?.status == .new) }
        for id in later { #expect(try store.command(id) == nil) }
        #expect(try store.setting("pause.*.*") == "now")
        for shard in 0..<4 { #expect(try store.integrityCheck(shard: shard).isEmpty) }
        // It is a store in use again.
        #expect(store.backupTime == nil)
        #expect(try store.submitNoops(40).count == 40)
        #expect(try store.counts()[.new] == 140)
    }

    @Test func `one damaged shard is restored, and the others keep what came later`() throws {
        let rig = try RecoveryRig()
        let (kept, later) = try {
            let store = try rig.store()
            let kept = try store.submitNoops(100)
            try rig.back(up: store)
            return (kept, try store.submitNoops(100))
        }()
        try Data([UInt8](repeating: 0xA5, count: 65_536)).write(to: URL(fileURLWithPath: rig.data.shard(2)))
        let result = try rig.restore(shard: 2)
        #expect(result.shards == [2])
        let store = try rig.store()
        for id in kept { #expect(try store.command(id) != nil) }
        for id in later { #expect(try (store.command(id) != nil) == (id.shard(of: 4) != 2)) }
        #expect(try store.integrityCheck(shard: 2).isEmpty)
    }

    @Test func `a restore into an empty directory makes a store`() throws {
        let rig = try RecoveryRig()
        let ids = try {
            let store = try rig.store()
            let ids = try store.submitNoops(50)
            try rig.back(up: store)
            return ids
        }()
        let other = DataDirectory(path: "\(rig.fixture.directory.path)/other")
        try rig.restore(to: other)
        let store = try SQLiteStore(directory: other, create: false)
        for id in ids { #expect(try store.command(id) != nil) }
        _ = try store.submitNoops(10)
        // The backup is unchanged, and can be restored again.
        try rig.restore()
    }

    @Test func `a restored shard has another id, and no backup mark`() throws {
        let rig = try RecoveryRig(shards: 1)
        try rig.back(up: rig.store())
        let before = try SQLiteProbe(rig.data.shard(0)).text("SELECT value FROM meta WHERE key = 'id'")
        try rig.restore()
        let probe = try SQLiteProbe(rig.data.shard(0))
        let after = try probe.text("SELECT value FROM meta WHERE key = 'id'")
        #expect(before.count == 32 && after.count == 32 && before != after)
        #expect(try probe.number("SELECT count(*) FROM meta WHERE key = 'backup'") == 0)
    }

    // MARK: Claimed commands

    @Test func `claimed commands are settled uncharged, and the counts agree`() throws {
        let rig = try RecoveryRig(shards: 1)
        let drafts = (0..<6).map { number in CommandDraft.noop.with { $0.idempotent = number != 2 && number != 4 } }
        let ids = try {
            let store = try rig.store()
            let ids = try store.submit(drafts, allowUnknownTypes: false).map { try $0.get().id }
            try store.open(Session(seat: 1, epoch: 7, pid: 1, startTime: 1, bootID: ""), shard: 0)
            // 0 waits; 1 and 2 are sent; 3 is queued; 4 and 5 have a cancellation request.
            _ = try store.apply(
                [.claim(ids[3], sent: false)] + [1, 2, 4, 5].map { .claim(ids[$0], sent: true) }, shard: 0, seat: 1,
                epoch: 7, timeout: .seconds(1))
            for id in ids[4...] { _ = try store.cancel(id, reason: "cancelled by a person") }
            try rig.back(up: store)
            // The original goes on: its end must not come back.
            _ = try store.apply(
                [.end(ids[1], claim: 1, .success(result: nil))], shard: 0, seat: 1, epoch: 7,
                timeout: .seconds(1))
            return ids
        }()
        let result = try rig.restore()
        #expect(result.settled == [.new: 2, .inDoubt: 1, .cancelled: 2])
        let store = try rig.store()
        let commands = try ids.map { try #require(try store.command($0)) }
        #expect(commands.map(\.status) == [.new, .new, .inDoubt, .new, .cancelled, .cancelled])
        #expect(commands.allSatisfy { $0.retries == 0 && $0.crashes == 0 && !$0.suspect && !$0.cancelRequested })
        let reason = "restored from a backup of \(result.time)"
        for number in 1..<6 {
            let last = try #require(try store.timeline(ids[number]).last)
            #expect(last.reason?.contains(reason) == true, "\(last)")
        }
        #expect(commands[4].reason?.contains("may have been delivered") == true)
        #expect(try store.sessions().isEmpty)
        for status in CommandStatus.allCases {
            let rows = try rig.number("SELECT count(*) FROM command WHERE status = \(status.rawValue)", shard: 0)
            #expect(try store.counts()[status] == rows)
        }
        // The claim of before the restore is over.
        let late = try store.apply(
            [.end(ids[3], claim: 1, .success(result: nil))], shard: 0, seat: 1, epoch: 7,
            timeout: .seconds(1))
        #expect(Array(late) == [.replaced])
        #expect(try store.integrityCheck(shard: 0).isEmpty)
    }

    // MARK: Other processes

    @Test(arguments: ["store", "sqlite3", "coordinator", "seat"])
    func `a restore is refused while a process uses the data directory, and names what`(_ user: String) throws {
        let rig = try RecoveryRig()
        try rig.back(up: rig.store())
        var held: [Any] = []
        switch user {
        case "store":
            let store = try rig.store()
            _ = try store.counts()
            held = [store]
        case "sqlite3": break
        case "coordinator": held = [try #require(try rig.data.run.take(.coordinator))]
        default: held = [try #require(try rig.data.run.take(.seat(200)))]
        }
        guard user != "sqlite3" else { return }
        let error = try #require(throws: StoreError.self) { try rig.restore() }
        #expect(error.code == .busy)
        #expect(error.message.contains("and try again"), "\(error)")
        withExtendedLifetime(held) {}
        held = []
        try rig.restore()
    }

    @Test func `a lock file that was swept away does not let a restore begin`() throws {
        let rig = try RecoveryRig()
        try rig.back(up: rig.store())
        let store = try rig.store()
        _ = try store.counts()
        try FileManager.default.removeItem(atPath: rig.data.run.lock(.store))
        let error = try #require(throws: StoreError.self) { try rig.restore() }
        #expect(error.code == .busy)
    }

    @Test func `no shard is opened while a restore runs`() throws {
        let rig = try RecoveryRig()
        try rig.back(up: rig.store())
        let waiting = try rig.store()
        let restore = try Restore(of: rig.backup, to: rig.data)
        _ = try restore.prepare { _ in }
        let error = try #require(throws: StoreError.self) { try waiting.counts() }
        #expect(error.code == .busy && error.message.contains("process \(getpid())"), "\(error)")
        try restore.replaceShards()
        try restore.finish()
        withExtendedLifetime(restore) {}
    }

    // MARK: Interruption

    @Test(arguments: [nil, 1])
    func `a restore that ends before the shards are replaced leaves the old state`(_ shard: Int?) throws {
        let rig = try RecoveryRig()
        let later = try {
            let store = try rig.store()
            try rig.back(up: store)
            return try store.submitNoops(100)
        }()
        do { _ = try Restore(of: rig.backup, to: rig.data, shard: shard).prepare { _ in } }
        do {
            let store = try rig.store()
            for id in later { #expect(try store.command(id) != nil) }
        }
        try rig.restore()
        #expect(try rig.files().allSatisfy { !$0.contains("restoring") })
    }

    @Test func `a store in which a restore was interrupted is refused until it is restored again`() throws {
        let rig = try RecoveryRig()
        let (kept, opened) = try {
            let store = try rig.store()
            let kept = try store.submitNoops(100)
            try rig.back(up: store)
            // Has no shard open, so that it does not hold the lock of the store.
            return (kept, try rig.store())
        }()
        do {
            let restore = try Restore(of: rig.backup, to: rig.data)
            _ = try restore.prepare { _ in }
            try restore.replaceShards()
        }
        // Half of it is gone, as after a power cut.
        try FileManager.default.removeItem(atPath: rig.data.shard(3))
        for refusal in [
            #expect(throws: StoreError.self) { try rig.store() },
            #expect(throws: StoreError.self) { try SQLiteStore(directory: rig.data, create: true) },
            #expect(throws: StoreError.self) { try opened.counts() },
        ] {
            #expect(refusal?.code == .corrupt)
            #expect(refusal?.message.contains("run “sluice restore \(rig.backup.path)” again") == true, "\(refusal!)")
        }
        // One shard is not enough.
        #expect(throws: StoreError.self) { try rig.restore(shard: 3) }
        try rig.restore()
        let store = try rig.store()
        for id in kept { #expect(try store.command(id) != nil) }
    }

    @Test func `what a killed restore left beside its copies is not replayed into new ones`() throws {
        let rig = try RecoveryRig()
        let ids = try {
            let store = try rig.store()
            let ids = try store.submitNoops(50)
            try rig.back(up: store)
            return ids
        }()
        // The WAL of a copy, as it is while the copy is changed.
        let copy = "\(rig.data.shard(1)).restoring"
        try FileManager.default.copyItem(atPath: rig.backup.shard(1), toPath: copy)
        let wal = try {
            let probe = try SQLiteProbe(copy)
            try probe.run("PRAGMA journal_mode = WAL; DELETE FROM meta WHERE key = 'backup'; DELETE FROM command")
            return try Data(contentsOf: URL(fileURLWithPath: "\(copy)-wal"))
        }()
        try wal.write(to: URL(fileURLWithPath: "\(copy)-wal"))
        try rig.restore()
        let store = try rig.store()
        for id in ids { #expect(try store.command(id) != nil) }
    }

    @Test func `an old WAL is not replayed into a restored shard`() throws {
        let rig = try RecoveryRig(shards: 1)
        let ids = try {
            let store = try rig.store()
            let ids = try store.submitNoops(500)
            try rig.back(up: store)
            for _ in 0..<20 { _ = try store.submitNoops(100) }
            return ids
        }()
        #expect(FileState(walOf: rig.data.shard(0)).bytes > 0)
        try rig.restore()
        let store = try rig.store()
        #expect(try store.integrityCheck(shard: 0).isEmpty)
        #expect(try store.counts()[.new] == ids.count)
    }
}
