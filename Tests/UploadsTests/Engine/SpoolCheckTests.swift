import Commands
import Foundation
import Host
import Store
import Testing
import UploadSpool

/// The comparison of the spool with the store.
struct SpoolCheckTests {
    private func check(_ rig: UploadRig) throws -> SpoolCheck.Result {
        let check = SpoolCheck(store: rig.store, spool: rig.spool)
        var sum = SpoolCheck.Result()
        for shard in 0..<rig.store.shardCount { try check.run(shard: shard, into: &sum) }
        return sum
    }

    @Test func `the check counts uploads and bytes, and finds no damage in a sound spool`() async throws {
        let rig = try UploadRig()
        let engine = rig.engine()
        _ = try await engine.create(length: 6)
        let half = try await engine.create(length: 6)
        let whole = try await engine.create("noop", length: 3)
        try await engine.send([1, 2], to: half.id, at: 0)
        try await engine.send([1, 2, 3], to: whole.id, at: 0)
        #expect(try check(rig) == .init(open: 2, complete: 1, bytes: 5, sound: 2))
    }

    @Test func `the check names each upload with fewer bytes than its client was told`() async throws {
        let rig = try UploadRig()
        let engine = rig.engine()
        let short = try await engine.create(length: 6)
        let missing = try await engine.create("noop", length: 3)
        try await engine.send([1, 2], to: short.id, at: 0)
        try await engine.send([1, 2, 3], to: missing.id, at: 0)
        try Data([1]).write(to: URL(fileURLWithPath: rig.spool.file(of: short.id)))
        try FileManager.default.removeItem(atPath: rig.spool.file(of: missing.id))
        let damaged = try check(rig).damaged
        #expect(damaged.first { $0.upload.id == short.id }?.size == 1)
        #expect(damaged.contains { $0.upload.id == missing.id && $0.size == nil })
        #expect(damaged.count == 2)
    }

    @Test func `bytes that were deleted after a success are not missing`() async throws {
        let rig = try UploadRig()
        let engine = rig.engine()
        let upload = try await engine.create("noop", length: 3)
        try await engine.send([1, 2, 3], to: upload.id, at: 0)
        try FileManager.default.removeItem(atPath: rig.spool.file(of: upload.id))
        #expect(try check(rig).damaged.count == 1)
        try rig.succeed([upload.id])
        #expect(try check(rig).damaged.isEmpty)
    }
}
