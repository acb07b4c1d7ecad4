import Commands
import Store
import TestSupport
import Testing
import Uploads

/// Small uploads, whose bytes the store keeps.
struct SmallUploadTests {
    private static func facts(_ route: String?) -> UploadFacts {
        var facts = UploadFacts(origin: .plain)
        facts.route = route
        return facts
    }

    @Test func `a small upload is durable in the store with its command, and a file is there for its reader`()
        async throws
    {
        let rig = try UploadRig(isDurable: true)
        let engine = rig.engine()
        let upload = try await engine.store(Self.facts("noop"), [1, 2, 3])
        #expect(
            upload.state == .complete && upload.command == upload.id && upload.storage == .row && upload.offset == 3)
        #expect(try rig.store.uploadBody(upload.id) == [1, 2, 3])
        #expect(rig.bytes(upload.id) == [1, 2, 3])
        #expect(try rig.store.command(upload.id)?.status == .new)
        #expect(rig.hinted == [upload.id])
        #expect(await engine.digest(of: upload, .crc32)?.bytes == [0x55, 0xBC, 0x80, 0x1D])
    }

    @Test func `a refused small upload leaves nothing`() async throws {
        let rig = try UploadRig { $0.quota = 100 }
        let engine = rig.engine()
        #expect(try await uploadError { try await engine.store(Self.facts("refused"), [1]) }.code == .invalid)
        var facts = Self.facts("noop")
        facts.digest = UploadDigest(.crc32, [0, 0, 0, 0])
        #expect(try await uploadError { try await engine.store(facts, [1]) }.code == .digestMismatch)
        let large = [UInt8](repeating: 0, count: 101)
        #expect(try await uploadError { try await engine.store(Self.facts("noop"), large) }.code == .noSpace)
        #expect(try rig.store.counts()[.new] == 0)
        for shard in 0..<2 {
            let rows = try rig.store.uploads(shard: shard, state: nil, order: .oldestFirst, after: nil, limit: 5)
            #expect(rows.isEmpty)
        }
        try await until("the files are removed") { try rig.spooledFiles().isEmpty }
        #expect(try await engine.store(Self.facts("noop"), Array(large.dropFirst())).state == .complete)
    }

    @Test func `many small uploads at once are all there, and their bytes go with the success of their commands`()
        async throws
    {
        let rig = try UploadRig(isDurable: true)
        let engine = rig.engine()
        let ids = try await withThrowingTaskGroup(of: CommandID.self) { group in
            for number in 0..<300 {
                group.addTask { try await engine.store(Self.facts("noop"), [UInt8(number & 255), 7]).id }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(ids).count == 300)
        #expect(try rig.store.counts()[.new] == 300)
        try rig.store.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 2, bootID: "boot"))
        for id in ids {
            let writes: [ExecutionWrite] = [.claim(id, sent: true), .end(id, claim: 1, .success(result: nil))]
            _ = try rig.store.apply(
                writes, shard: id.shard(of: 2), seat: 1, epoch: 1, now: rig.now, timeout: .seconds(1))
        }
        rig.advance(.seconds(100))
        while await engine.tidy() > 0 {}
        #expect(try rig.spooledFiles().isEmpty)
        #expect(try rig.store.uploadBody(ids[0]) == nil && rig.store.upload(ids[0]) == nil)
    }
}
