import Commands
import Foundation
import Host
import TestSupport
import Testing

@testable import Store

/// Copies of data directories, told from the original by the inodes of the shards.
///
/// Looked for other instances: a compaction of a copy would have hidden that it is one; a shard that an earlier version
/// restored has the row of the original, and is known by its new id.
@Suite struct CopiedDirectoryTests {
    private let rig: RecoveryRig

    init() throws { rig = try RecoveryRig(shards: 2) }

    private var copy: DataDirectory { DataDirectory(path: "\(rig.fixture.directory.path)/copy") }

    private func copyAll() throws { try FileManager.default.copyItem(atPath: rig.data.path, toPath: copy.path) }

    private func store(in directory: DataDirectory) throws -> SQLiteStore {
        try SQLiteStore(directory: directory, create: false)
    }

    @Test func `a copy is refused with the path of the original, and the original is not`() throws {
        do { try rig.store().refuseCopy() }
        try copyAll()
        let error = try #require(throws: StoreError.self) { try store(in: copy).refuseCopy() }
        #expect(error.code == .unsuitable)
        #expect(error.message.contains("this is a copy of \(rig.data.resolved.path) made at "), "\(error)")
        #expect(error.message.contains("“sluice restore --adopt \(copy.resolved.path)”"), "\(error)")
        let found = try #require(try store(in: copy).copiedDirectory())
        #expect(abs((found.copiedAt - .now).seconds) < 600)
        try rig.store().refuseCopy()
        // A compaction makes new files, and would hide it.
        let refused = try #require(throws: StoreError.self) { try Compaction(copy) }
        #expect(refused.code == .unsuitable)
    }

    @Test func `a directory that is moved is not a copy, and a copy of it has its new path`() throws {
        let moved = DataDirectory(path: "\(rig.fixture.directory.path)/moved")
        try FileManager.default.moveItem(atPath: rig.data.path, toPath: moved.path)
        try store(in: moved).refuseCopy()
        try FileManager.default.copyItem(atPath: moved.path, toPath: copy.path)
        #expect(try store(in: copy).copiedDirectory()?.original == moved.resolved.path)
    }

    @Test(arguments: [
        "DELETE FROM meta WHERE key = 'place'", "UPDATE meta SET value = 'other 7 /x' WHERE key = 'place'",
    ])
    func `a store of an earlier version gets the row`(_ change: String) throws {
        for shard in 0..<2 { try SQLiteProbe(rig.data.shard(shard)).run(change) }
        try rig.store().refuseCopy()
        #expect(try rig.number("SELECT count(*) FROM meta WHERE key = 'place' AND value LIKE '%/data'", shard: 1) == 1)
        try copyAll()
        #expect(try store(in: copy).copiedDirectory() != nil)
    }

    @Test func `a restore and a compaction record the place of the new files`() throws {
        try rig.back(up: rig.store())
        try rig.restore()
        let own =
            "SELECT count(*) FROM meta p, meta i WHERE p.key = 'place' AND i.key = 'id' "
            + "AND p.value LIKE i.value || ' %'"
        for shard in 0..<2 { #expect(try rig.number(own, shard: shard) == 1) }
        try rig.store().refuseCopy()
        do {
            let compaction = try Compaction(rig.data)
            for shard in 0..<2 { _ = try compaction.run(shard: shard) }
        }
        try rig.store().refuseCopy()
        // Into another directory, by one shard.
        try rig.restore(shard: 1)
        try rig.store().refuseCopy()
    }

    @Test func `an adopted copy settles what was claimed, and can be used`() throws {
        let ids = try {
            let store = try rig.store()
            try store.open(Session(seat: 1, epoch: 7, pid: 1, startTime: 1, bootID: ""))
            let drafts = [true, false].map { isIdempotent in CommandDraft.noop.with { $0.idempotent = isIdempotent } }
            let ids = try store.submit(drafts, allowUnknownTypes: false).map { try $0.get().id }
            for id in ids {
                _ = try store.apply(
                    [.claim(id, sent: true)], shard: id.shard(of: 2), seat: 1, epoch: 7, timeout: .seconds(1)
                )
            }
            // While it is open, with commits in the WAL.
            try copyAll()
            return ids
        }()
        do {
            let adoption = try Adoption(copy)
            #expect(adoption.copy.original == rig.data.resolved.path)
            #expect(try adoption.run { _ in }.settled == [.new: 1, .inDoubt: 1])
        }
        let adopted = try store(in: copy)
        try adopted.refuseCopy()
        #expect(try adopted.sessions().isEmpty)
        #expect(try ids.map { try adopted.command($0)?.status } == [.new, .inDoubt])
        #expect(try adopted.command(ids[1])?.reason?.contains("adopted with a copy of") == true)
        // The original is as it was.
        #expect(try ids.map { try rig.store().command($0)?.status } == [.sent, .sent])
        let again = try #require(throws: StoreError.self) { try Adoption(rig.data) }
        #expect(again.code == .invalid && again.message.contains("is not a copy"))
    }

    @Test func `a copy that is in use, or a backup, is not adopted`() throws {
        try rig.back(up: rig.store())
        #expect(throws: StoreError.self) { try Adoption(rig.backup) }
        try copyAll()
        let held = try copy.run.take(.coordinator)
        let error = try #require(throws: StoreError.self) { try Adoption(copy) }
        #expect(error.code == .busy)
        withExtendedLifetime(held) {}
    }
}
