import Commands
import Foundation
import Store
import TestSupport
import Testing
import Uploads

struct UploadSpaceTests {
    @Test func `room is refused before the first byte, and free again after the end`() async throws {
        let rig = try UploadRig { $0.quota = 100 }
        let engine = rig.engine()
        let first = try await engine.create(length: 60)
        let refused = try await uploadError { try await engine.create(length: 41) }
        #expect(refused.code == .noSpace && refused.message.contains("40 more bytes"))
        #expect(try await engine.create(length: 40).state == .open)
        try await engine.terminate(first.id)
        #expect(try await engine.create(length: 60).state == .open)
        // A new door counts what is there.
        let next = rig.engine()
        _ = try await next.recover()
        #expect(try await uploadError { try await next.create(length: 1) }.code == .noSpace)
        // As `sluice uploads remove` does.
        let shard = first.id.shard(of: 2)
        let second = try #require(
            try rig.store.uploads(shard: shard, state: .open, order: .newestFirst, after: nil, limit: 1).first
                ?? rig.store.uploads(shard: 1 - shard, state: .open, order: .newestFirst, after: nil, limit: 1).first)
        let writes = [UploadWrite.end(second.id, reason: "removed", due: nil), .dropBytes(second.id)]
        _ = try rig.store.apply(writes, shard: second.id.shard(of: 2), now: rig.now)
        try FileManager.default.removeItem(atPath: rig.spool.file(of: second.id))
        _ = await next.tidy()
        #expect(try await next.create(length: second.length).state == .open)
        let floor = try UploadRig { $0.minFree = .max / 2 }
        #expect(try await uploadError { try await floor.engine().create(length: 1) }.code == .noSpace)
    }

    @Test func `a client is not told where the spool is`() async throws {
        let rig = try UploadRig()
        let engine = rig.engine()
        let upload = try await engine.create(length: 5)
        try FileManager.default.removeItem(atPath: rig.spool.file(of: upload.id))
        try FileManager.default.createDirectory(
            atPath: rig.spool.file(of: upload.id), withIntermediateDirectories: true)
        let error = try await uploadError { try await engine.send([1], to: upload.id, at: 0) }
        #expect(error.code == .failed && !error.message.contains("/"), "\(error)")
        let full = try UploadRig { $0.minFree = .max / 2 }
        let refused = try await uploadError { try await full.engine().create(length: 1) }
        #expect(refused.code == .noSpace && !refused.message.contains("/"), "\(refused)")
    }

    @Test func `uploads of unknown length find room in a spool that is smaller than a step`() async throws {
        let rig = try UploadRig { $0.quota = 4000 }
        let engine = rig.engine()
        let first = try await engine.create(length: nil)
        let second = try await engine.create(length: nil)
        try await engine.send([UInt8](repeating: 7, count: 2000), to: first.id, at: 0, .atEnd)
        try await engine.send([UInt8](repeating: 8, count: 1500), to: second.id, at: 0, .atEnd)
        #expect(rig.bytes(first.id)?.count == 2000 && rig.bytes(second.id)?.count == 1500)
        // The room that it has not used is free again.
        #expect(try await engine.create(length: 500).state == .open)
        let refused = try await uploadError { try await engine.create(length: nil) }
        #expect(refused.code == .noSpace && refused.message.contains("0 more bytes"), "\(refused)")
    }

    @Test func `an upload of unknown length gets no more room than there is`() async throws {
        let rig = try UploadRig { $0.quota = 1000 }
        let engine = rig.engine()
        let upload = try await engine.create(length: nil)
        let bytes = [UInt8](repeating: 7, count: 2000)
        let error = try await uploadError {
            try await engine.append(UploadAppend(offset: 0, size: nil, completion: .atEnd), to: upload.id) {
                receiver in
                bytes.withUnsafeBytes { receiver.add($0) }
                try await receiver.flush()
            }
        }
        #expect(error.code == .noSpace, "\(error)")
    }

    @Test func `a length that is stated late is refused before its bytes where there is no room for it`() async throws {
        let rig = try UploadRig { $0.quota = 1000 }
        let engine = rig.engine()
        let upload = try await engine.create(length: nil)
        let refused = try await uploadError {
            try await engine.send([1], to: upload.id, at: 0) { $0.length = 1001 }
        }
        #expect(refused.code == .noSpace, "\(refused)")
        #expect(try await engine.upload(upload.id).offset == 0)
        try await engine.send([1], to: upload.id, at: 0) { $0.length = 900 }
        #expect(try await uploadError { try await engine.create(length: 101) }.code == .noSpace)
    }
}
