import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing
import UploadSpool

@testable import Uploads

struct UploadSpaceTests {
    @Test func `room is refused before the first byte, and free again after the end`() async throws {
        let rig = try UploadRig { $0.quota = 100 }
        let engine = rig.engine()
        let never = try await uploadError { try await engine.create(length: 101) }
        #expect(never.code == .noSpace && never.message.contains("100 more bytes"))
        let first = try await engine.create(length: 60)
        try await engine.send([UInt8](repeating: 1, count: 60), to: first.id, at: 0)
        let refused = try await uploadError { try await engine.create(length: 41) }
        #expect(refused.code == .noSpace && refused.message.contains("40 more bytes"))
        let second = try await engine.create(length: 40)
        try await engine.send([UInt8](repeating: 1, count: 39), to: second.id, at: 0)
        #expect(try await uploadError { try await engine.create(length: 2) }.code == .noSpace)
        // A new door counts what is there.
        let next = rig.engine()
        _ = try await next.recover()
        #expect(try await uploadError { try await next.create(length: 2) }.code == .noSpace)
        // As `sluice uploads remove` does.
        let writes = [UploadWrite.end(second.id, reason: "removed", due: nil), .dropBytes(second.id)]
        _ = try rig.store.apply(writes, shard: second.id.shard(of: 2))
        try FileManager.default.removeItem(atPath: rig.spool.file(of: second.id))
        _ = await next.tidy()
        let third = try await next.create(length: 40)
        try await next.terminate(third.id)
        #expect(try await next.create(length: 40).state == .open)
        let floor = try UploadRig { $0.minFree = .max / 2 }
        for length: Int64? in [1, 0, nil] {
            #expect(try await uploadError { try await floor.engine().create(length: length) }.code == .noSpace)
        }
    }

    @Test func `creations without bytes take no room from others`() async throws {
        let rig = try UploadRig { $0.quota = 1 << 30 }
        let engine = rig.engine()
        for _ in 0..<20 { _ = try await engine.create(length: 1 << 30) }
        let figures = try await engine.spoolFigures()
        #expect(figures.used == 0 && figures.promised == 0 && figures.room == 1 << 30)
        #expect(try rig.spooledFiles().isEmpty)
        let other = try await engine.create(length: 3)
        #expect(try await engine.send([1, 2, 3], to: other.id, at: 0).state == .complete)
    }

    @Test func `room is taken in steps behind the bytes`() async throws {
        let rig = try UploadRig()
        let engine = rig.engine()
        let upload = try await engine.create(length: 1 << 30)
        var sent: Int64 = 0
        for size in [1, 100_000, 3 << 20, 5 << 20] {
            try await engine.send([UInt8](repeating: 7, count: size), to: upload.id, at: sent, part: 1 << 20)
            sent += Int64(size)
            let figures = try await engine.spoolFigures()
            #expect(figures.used >= sent && figures.used <= 2 * sent + 2 << 20, "\(figures.used) for \(sent)")
            var facts = stat()
            #expect(stat(rig.spool.file(of: upload.id), &facts) == 0)
            #expect(Int64(facts.st_blocks) * 512 <= figures.used + 1 << 20)
        }
        // No more than the length that is known.
        let small = try await engine.create(length: 10)
        try await engine.send([1], to: small.id, at: 0)
        try await engine.terminate(upload.id)
        #expect(try await engine.spoolFigures().used == 10)
    }

    // MARK: Shares of tokens

    private static func facts(_ token: String) -> UploadFacts {
        var facts = UploadFacts(origin: .tus)
        facts.token = token
        return facts
    }

    @Test(arguments: [Int64?.none, 300])
    func `one token leaves room for others`(quota: Int64?) async throws {
        let rig = try UploadRig {
            $0.quota = 1000
            $0.tokenQuota = quota
        }
        let engine = rig.engine()
        let share = quota ?? 900
        let first = try await engine.create(Self.facts("a"), length: share, key: nil)
        try await engine.send([UInt8](repeating: 1, count: Int(share)), to: first.id, at: 0)
        for engine in [engine, rig.engine()] {
            _ = try await engine.recover()
            let refused = try await uploadError { try await engine.create(Self.facts("a"), length: 1, key: nil) }
            #expect(refused.code == .noSpace && refused.message.contains("this token"), "\(refused)")
            let small = try await uploadError { try await engine.store(Self.facts("a"), [1], key: nil) }
            #expect(small.code == .noSpace)
        }
        let other = try await engine.create(Self.facts("b"), length: 100, key: nil)
        #expect(try await engine.send([UInt8](repeating: 1, count: 100), to: other.id, at: 0).state == .complete)
        try await engine.terminate(first.id)
        #expect(try await engine.create(Self.facts("a"), length: 1, key: nil).state == .open)
    }

    @Test func `a token has a number of open uploads, and ends some of them to begin others`() async throws {
        let rig = try UploadRig { $0.maxTokenUploads = 3 }
        let engine = rig.engine()
        var ids: [CommandID] = []
        for _ in 0..<3 { ids.append(try await engine.create(Self.facts("a"), length: 1, key: nil).id) }
        for engine in [engine, rig.engine()] {
            _ = try await engine.recover()
            let refused = try await uploadError { try await engine.create(Self.facts("a"), length: 1, key: nil) }
            #expect(refused.code == .tooMany(wait: .seconds(60)), "\(refused)")
            #expect(try await engine.store(Self.facts("a"), [1], key: nil).state == .complete)
        }
        #expect(try await engine.create(Self.facts("b"), length: 1, key: nil).state == .open)
        try await engine.send([1], to: ids[0], at: 0)
        try await engine.terminate(ids[1])
        for _ in 0..<2 { _ = try await engine.create(Self.facts("a"), length: 1, key: nil) }
        #expect(
            try await uploadError { try await engine.create(Self.facts("a"), length: 1, key: nil) }.code
                == .tooMany(wait: .seconds(60)))
    }

    @Test func `creations without bytes are counted for a minute, and those with bytes are not`() throws {
        var limits = UploadLimits()
        limits.maxTokenCreations = 2
        let start = MonotonicTime.now
        var share = TokenShare()
        for _ in 0..<100 {
            try share.create(limits, now: start)
            share.broughtBytes()
        }
        for _ in 0..<2 { try share.create(limits, now: start + .seconds(20)) }
        #expect(throws: SpoolSpace.Refusal.creations(max: 2, wait: .seconds(30))) {
            try share.create(limits, now: start + .seconds(30))
        }
        try share.create(limits, now: start + .seconds(60))
    }

    @Test func `the first bytes of an upload give its creation back`() async throws {
        let rig = try UploadRig { $0.maxTokenCreations = 2 }
        let engine = rig.engine()
        for _ in 0..<5 {
            let upload = try await engine.create(Self.facts("a"), length: 2, key: nil)
            try await engine.send([1], to: upload.id, at: 0)
        }
        for _ in 0..<2 { _ = try await engine.create(Self.facts("a"), length: 2, key: nil) }
        let refused = try await uploadError { try await engine.create(Self.facts("a"), length: 2, key: nil) }
        guard case .tooMany(let wait) = refused.code else { throw Missed("\(refused)") }
        #expect(wait <= .seconds(60))
    }

    @Test func `other processes read the figures of a door that runs`() async throws {
        let rig = try UploadRig { $0.quota = 1000 }
        let engine = rig.engine()
        let run = RunDirectory(path: try rig.directory.makeDirectory("run"))
        let upload = try await engine.create(length: 700)
        try await engine.send([UInt8](repeating: 1, count: 700), to: upload.id, at: 0)
        await engine.reportFigures(to: run)
        let told = try #require(SpoolFigures.read(run))
        #expect(told.used == 700 && told.room == 300 && told.quota == 1000)
    }

    @Test func `the figures are those of a door while it runs, else those of the rows`() async throws {
        let rig = try UploadRig { $0.quota = 1000 }
        let engine = rig.engine()
        let data = DataDirectory(path: try rig.directory.makeDirectory("data"))
        for path in [data.run.path, data.uploads] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        let upload = try await engine.create(length: 700)
        try await engine.send([UInt8](repeating: 1, count: 700), to: upload.id, at: 0)
        await engine.reportFigures(to: data.run)
        func used(hasDoor: Bool) -> Int64? { SpoolFigures.read(data, rig.limits, hasDoor: hasDoor) { 5 }?.used }
        #expect(used(hasDoor: false) == 5, "the door has ended")
        #expect(used(hasDoor: true) == 700)
    }

    @Test func `a client is not told where the spool is`() async throws {
        let rig = try UploadRig()
        let engine = rig.engine()
        let upload = try await engine.create(length: 5)
        try FileManager.default.createDirectory(
            atPath: rig.spool.file(of: upload.id), withIntermediateDirectories: true)
        let error = try await uploadError { try await engine.send([1], to: upload.id, at: 0) }
        #expect(error.code == .failed && !error.message.contains("/"), "\(error)")
        let full = try UploadRig { $0.minFree = .max / 2 }
        let refused = try await uploadError { try await full.engine().create(length: 1) }
        #expect(refused.code == .noSpace && !refused.message.contains("/"), "\(refused)")
    }

    @Test(arguments: [StoreError.Code.busy, .unreachable, .overloaded, .missing, .full, .failed, .corrupt, .permission])
    func `an error of the store names neither files nor processes to a client`(code: StoreError.Code) {
        let error = UploadError(StoreError(code, "shard 3 in /srv/data is locked by sqlite3, process 4711"))
        #expect(!error.message.contains("/") && !error.message.contains("4711") && error.message.hasSuffix("."))
        #expect(error.cause?.contains("/srv/data") == true)
        if [.busy, .unreachable].contains(code) { #expect(error.code == .unavailable) }
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
        let third = try await engine.create(length: 500)
        try await engine.send([UInt8](repeating: 9, count: 500), to: third.id, at: 0)
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
        // The rest of it takes room when it comes.
        #expect(try await engine.create(length: 800).state == .open)
    }
}
