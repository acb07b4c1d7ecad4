import Commands
import Foundation
import Host
import TestSupport
import Testing

@testable import Store

/// Backups that a restore refuses, and the use of a backup as a store.
@Suite struct RestoreRefusalTests {
    private func refusal(_ rig: RecoveryRig, shard: Int? = nil) throws -> StoreError {
        let before = try rig.files()
        let error = try #require(throws: StoreError.self) { try rig.restore(shard: shard) }
        #expect(try rig.files() == before, "nothing is left or replaced")
        return error
    }

    @Test func `a backup of another store is refused`() throws {
        let (rig, other) = (try RecoveryRig(), try RecoveryRig())
        try other.back(up: other.store())
        let before = try rig.files()
        let error = try #require(throws: StoreError.self) { try rig.restore(from: other.backup) }
        #expect(error.code == .foreign && error.message.contains("another store"), "\(error)")
        #expect(try rig.files() == before)
        let single = try #require(throws: StoreError.self) { try rig.restore(from: other.backup, shard: 1) }
        #expect(single.code == .foreign)
    }

    @Test func `a directory without a backup is refused, and so is the data directory itself`() throws {
        let rig = try RecoveryRig()
        #expect(try refusal(rig).code == .missing)
        let own = try #require(throws: StoreError.self) { try rig.restore(from: rig.data) }
        #expect(own.code == .invalid)
        // A store in use is not a backup: its WAL would be lost.
        let other = try RecoveryRig()
        _ = try other.store().submitNoops(10)
        let live = try #require(throws: StoreError.self) { try rig.restore(from: other.data) }
        #expect(live.code == .invalid && live.message.contains("not a backup"), "\(live)")
    }

    @Test(arguments: ["first", "middle", "last", "several backups", "damaged", "newer", "text"])
    func `an incomplete or damaged backup is refused`(_ kind: String) throws {
        let rig = try RecoveryRig()
        do {
            let store = try rig.store()
            _ = try store.submitNoops(400)
            try rig.back(up: store)
        }
        let path = rig.backup.shard(kind == "first" ? 0 : kind == "last" ? 3 : 1)
        switch kind {
        case "several backups": try SQLiteProbe(path).run("UPDATE meta SET value = value + 1 WHERE key = 'backup'")
        case "newer": try SQLiteProbe(path).run("PRAGMA user_version = 99")
        case "text": try Data("My shopping list\n".utf8).write(to: URL(fileURLWithPath: path))
        case "damaged":
            var bytes = try #require(contents(of: path))
            var random = SeededRandom.announced("damaged backup")
            bytes.replaceSubrange(4096..., with: random.bytes(bytes.count - 4096))
            try Data(bytes).write(to: URL(fileURLWithPath: path))
        default: try FileManager.default.removeItem(atPath: path)
        }
        let error = try refusal(rig)
        let codes: [StoreError.Code] = [.invalid, .foreign, .corrupt]
        #expect(codes.contains(error.code), "\(error)")
        // A sound shard of it can be restored alone.
        try rig.restore(shard: 2)
    }

    @Test func `a backup can be read, stays as it is, and refuses every write`() throws {
        let rig = try RecoveryRig()
        let ids = try {
            let store = try rig.store()
            let ids = try store.submitNoops(40)
            try rig.back(up: store)
            return ids
        }()
        let before = try (0..<4).map { try #require(contents(of: rig.backup.shard($0))) }
        let store = try SQLiteStore(directory: rig.backup, create: false)
        #expect(try store.list(CommandFilter(), after: nil, limit: 100).count == 40)
        #expect(try store.integrityCheck(shard: 1).isEmpty)
        #expect(store.backupTime != nil)
        func refuses(_ body: () throws(StoreError) -> Void) {
            let error = #expect(throws: StoreError.self) { try body() }
            #expect(error?.code == .backup && error?.message.contains("sluice restore") == true)
        }
        refuses { () throws(StoreError) in try store.refuseBackup() }
        refuses { () throws(StoreError) in
            _ = try store.submit([.noop], allowUnknownTypes: false)[0].get()
        }
        refuses { () throws(StoreError) in _ = try store.cancel(ids[0], reason: "") }
        refuses { () throws(StoreError) in
            try store.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 1, bootID: ""), shard: 0)
        }
        refuses { () throws(StoreError) in try store.set("pause.*.*", to: "now") }
        for shard in 0..<4 {
            #expect(contents(of: rig.backup.shard(shard)) == before[shard])
            #expect(!FileManager.default.fileExists(atPath: rig.backup.shard(shard) + "-wal"))
        }
    }
}
