import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing
import UploadSpool
import Uploads

/// Uploads after a crash, and the upkeep of the spool.
struct UploadRecoveryTests {
    private func append(_ bytes: [UInt8], to path: String) throws {
        let file = try #require(FileHandle(forWritingAtPath: path))
        try file.seekToEnd()
        try file.write(contentsOf: Data(bytes))
        try file.close()
    }

    @Test func `bytes beyond the durable offset are dropped at the start`() async throws {
        let rig = try UploadRig(isDurable: true)
        let engine = rig.engine()
        let upload = try await engine.create("noop", length: 6)
        try await engine.send([1, 2], to: upload.id, at: 0)
        // A crash between the write and the commit of the offset.
        try append([99, 99, 99], to: rig.spool.file(of: upload.id))
        let next = rig.engine()
        let recovery = try await next.recover()
        #expect(recovery.open == 1 && recovery.truncated == 1 && recovery.lost.isEmpty && recovery.bytes == 2)
        #expect(rig.bytes(upload.id) == [1, 2])
        #expect(try await next.upload(upload.id).offset == 2)
        try await next.send([3, 4, 5, 6], to: upload.id, at: 2)
        #expect(rig.bytes(upload.id) == [1, 2, 3, 4, 5, 6])
    }

    @Test func `a concatenation that a crash has cut ends, and its key is free again`() async throws {
        let rig = try UploadRig(isDurable: true)
        let engine = rig.engine()
        let part = try await engine.create("noop", length: 2) { $0.concatenation = .partial }
        try await engine.send([1, 2], to: part.id, at: 0)
        var facts = UploadFacts(origin: .tus)
        facts.concatenation = .final([part.id])
        let key = IdempotencyKey(value: "k", token: "t")
        let cut = try await engine.create(facts, length: 2, key: key)
        let next = rig.engine()
        #expect(try await next.recover().open == 0)
        #expect(try await uploadError { try await next.upload(cut.id) }.code == .gone)
        facts.concatenation = nil
        let whole = try await next.concatenate([part.id], facts, key: key)
        #expect(whole.state == .complete && whole.id != cut.id && rig.bytes(whole.id) == [1, 2])
    }

    @Test func `an upload that has lost bytes ends, and the others go on`() async throws {
        let rig = try UploadRig()
        let engine = rig.engine()
        let lost = try await engine.create(length: 6)
        let kept = try await engine.create(length: 6)
        for id in [lost.id, kept.id] { try await engine.send([1, 2], to: id, at: 0) }
        try Data([1]).write(to: URL(fileURLWithPath: rig.spool.file(of: lost.id)))
        let next = rig.engine()
        #expect(try await next.recover().lost == [lost.id])
        let error = try await uploadError { try await next.upload(lost.id) }
        #expect(error.code == .gone && error.message.contains("1 bytes instead of 2"))
        #expect(try await next.upload(kept.id).offset == 2)
    }

    @Test func `a file without an upload is removed at the start`() async throws {
        let rig = try UploadRig(isDurable: true)
        let kept = try await rig.engine().create(length: 6)
        let orphan = CommandID()
        let path = rig.spool.file(of: orphan)
        try Data([1]).write(to: URL(fileURLWithPath: path))
        try Data([1]).write(to: URL(fileURLWithPath: "\(rig.spool.path)/not-an-upload"))
        _ = try await rig.engine().recover()
        #expect(Set(try rig.spooledFiles()) == ["\(kept.id)", "not-an-upload"])
    }

    @Test func `an upload without progress expires, and is remembered for a day`() async throws {
        let rig = try UploadRig { $0.maxAge = .seconds(100) }
        let engine = rig.engine()
        let idle = try await engine.create(length: 6)
        let busy = try await engine.create(length: 6)
        rig.advance(.seconds(99))
        try await engine.send([1], to: busy.id, at: 0)
        // A look is not progress.
        _ = try await engine.upload(idle.id)
        #expect(await engine.tidy() == 0)
        rig.advance(.seconds(2))
        #expect(await engine.tidy() == 1)
        #expect(rig.bytes(idle.id) == nil && rig.bytes(busy.id) == [1])
        #expect(try await uploadError { try await engine.upload(idle.id) }.code == .gone)
        rig.advance(.seconds(90_000))
        while await engine.tidy() > 0 {}
        #expect(try await uploadError { try await engine.upload(idle.id) }.code == .notFound)
    }

    @Test func `a request without bytes does not keep an upload from expiring`() async throws {
        let rig = try UploadRig { $0.maxAge = .seconds(100) }
        let engine = rig.engine()
        let upload = try await engine.create(length: 6)
        try await engine.send([1], to: upload.id, at: 0)
        rig.advance(.seconds(60))
        try await engine.send([], to: upload.id, at: 1)
        _ = try await uploadError { try await engine.send([1, 2], to: upload.id, at: 1, cutsAfter: 0) }
        rig.advance(.seconds(41))
        #expect(await engine.tidy() == 1)
        #expect(try await uploadError { try await engine.upload(upload.id) }.code == .gone)
    }

    @Test func `an upload that makes a byte now and then expires, and one that makes a KiB a second does not`()
        async throws
    {
        let rig = try UploadRig { $0.maxAge = .seconds(100) }
        let engine = rig.engine()
        let (slow, steady) = (try await engine.create(length: 1 << 20), try await engine.create(length: 1 << 20))
        for step in 0..<6 {
            rig.advance(.seconds(60))
            #expect(await engine.tidy() == 0)
            try await engine.send([1], to: slow.id, at: Int64(step))
            try await engine.send([UInt8](repeating: 1, count: 60 << 10), to: steady.id, at: Int64(step * 60 << 10))
        }
        rig.advance(.seconds(60))
        #expect(await engine.tidy() == 1)
        let error = try await uploadError { try await engine.upload(slow.id) }
        #expect(error.code == .gone && error.message.contains("it made 6 bytes in 420 s"), "\(error)")
        #expect(try await engine.upload(steady.id).offset == 6 * 60 << 10)
    }

    @Test func `a finished part that no final upload takes expires, and its client is told`() async throws {
        let rig = try UploadRig { $0.maxAge = .seconds(100) }
        let engine = rig.engine()
        let part = try await engine.create(length: 1) { $0.concatenation = .partial }
        try await engine.send([1], to: part.id, at: 0)
        rig.advance(.seconds(101))
        while await engine.tidy() > 0 {}
        #expect(rig.bytes(part.id) == nil)
        let error = try await uploadError { try await engine.upload(part.id) }
        #expect(error.code == .gone && error.message.contains("no final upload"), "\(error)")
    }

    @Test(arguments: [nil, "key"])
    func `a client that has lost the last response finds its upload a day after the success`(
        route: String?
    ) async throws {
        let rig = try UploadRig()
        let engine = rig.engine()
        // With a unique key, the second upload becomes the command of the first.
        var uploads: [Upload] = []
        for _ in 0..<(route == nil ? 1 : 2) { uploads.append(try await engine.create(route ?? "noop", length: 2)) }
        for upload in uploads {
            let whole = try await engine.send([1, 2], to: upload.id, at: 0)
            if whole.command == upload.id { try rig.succeed([upload.id]) }
        }
        rig.advance(.seconds(3600))
        while await engine.tidy() > 0 {}
        #expect(try rig.spooledFiles().isEmpty)
        for upload in uploads {
            #expect(try await engine.upload(upload.id).offset == 2)
            #expect(try await engine.send([], to: upload.id, at: 2).state == .complete)
        }
        rig.advance(.seconds(86_400))
        while await engine.tidy() > 0 {}
        for upload in uploads { #expect(try rig.store.upload(upload.id) == nil) }
    }

    @Test func `the bytes of a command stay until its success, and for the retention after it`() async throws {
        let rig = try UploadRig(rules: TestRules(retention: .seconds(50)))
        let engine = rig.engine()
        let upload = try await engine.create("noop", length: 1)
        try await engine.send([1], to: upload.id, at: 0)
        rig.advance(.seconds(4000))
        while await engine.tidy() > 0 {}
        #expect(rig.bytes(upload.id) == [1])
        try rig.succeed([upload.id])
        #expect(try rig.store.command(upload.id)?.status == .success)
        rig.advance(.seconds(49))
        while await engine.tidy() > 0 {}
        #expect(rig.bytes(upload.id) == [1])
        rig.advance(.seconds(4000))
        while await engine.tidy() > 0 {}
        #expect(rig.bytes(upload.id) == nil)
        // An upload without a route stays until a person removes it.
        let kept = try await engine.create(length: 0)
        rig.advance(.seconds(10_000_000))
        while await engine.tidy() > 0 {}
        #expect(rig.bytes(kept.id) == [])
    }

    @Test func `a long request makes its bytes durable while it runs`() async throws {
        let rig = try UploadRig(isDurable: true)
        let engine = rig.engine()
        let size = 40 << 20
        let upload = try await engine.create("noop", length: Int64(size))
        let (go, resume) = AsyncStream<Void>.makeStream()
        let request = Task {
            try await engine.append(
                UploadAppend(offset: 0, size: Int64(size), completion: .atLength), to: upload.id
            ) { receiver in
                let part = [UInt8](repeating: 5, count: 1 << 20)
                for number in 0..<size / part.count {
                    part.withUnsafeBytes { receiver.add($0) }
                    try await receiver.flush()
                    // The last part waits until another process has seen the offset.
                    if number == size / part.count - 2 { for await _ in go { break } }
                }
            }
        }
        let durable = try await awaited("a durable offset") {
            try rig.store.upload(upload.id).flatMap { $0.offset > 0 ? $0.offset : nil }
        }
        #expect(durable >= 16 << 20 && durable < size)
        resume.yield()
        #expect(try await request.value.state == .complete)
        #expect(rig.bytes(upload.id)?.count == size)
    }

    @Test func `whatever is cut, every byte below a stated offset is kept`() async throws {
        var random = SeededRandom.announced("UploadRecoveryTests")
        for _ in 0..<12 {
            let rig = try UploadRig(isDurable: true)
            var engine = rig.engine()
            let bytes = random.bytes(random.number(in: 1..<400_000))
            let isLengthKnown = random.chance(0.5)
            let upload = try await engine.create("noop", length: isLengthKnown ? Int64(bytes.count) : nil)
            var stated: Int64 = 0
            var state = UploadState.open
            while state == .open {
                let end = random.number(in: Int(stated)..<bytes.count + 1)
                let part = Array(bytes[Int(stated)..<end])
                let cut = random.chance(0.4) && !part.isEmpty ? random.number(in: 0..<part.count) : nil
                let completion: UploadAppend.Completion = end == bytes.count ? .atEnd : .later
                do {
                    let now = try await engine.send(
                        part, to: upload.id, at: stated, completion, part: random.number(in: 1..<70_000), cutsAfter: cut
                    )
                    (stated, state) = (now.offset, now.state)
                } catch let error as UploadError {
                    #expect(error.code == .interrupted)
                    stated = try #require(error.offset)
                }
                if random.chance(0.3), state == .open {
                    // A crash, with bytes in the file that no offset covers.
                    try append(random.bytes(random.number(in: 0..<1000)), to: rig.spool.file(of: upload.id))
                    engine = rig.engine()
                    _ = try await engine.recover()
                    let now = try await engine.upload(upload.id)
                    #expect(now.offset == stated)
                }
                let file = try #require(rig.bytes(upload.id))
                #expect(file.prefix(Int(stated)).elementsEqual(bytes.prefix(Int(stated))))
            }
            #expect(rig.bytes(upload.id) == bytes)
            #expect(try rig.store.command(upload.id)?.status == .new)
        }
    }

    @Test(.enabled(if: SmallFileSystem.mayExist, "only root can mount a file system"))
    func `a disk that becomes full in the middle keeps the offset, and the upload goes on later`() async throws {
        let directory = try TemporaryDirectory("full")
        defer { directory.remove() }
        guard let disk = try await SmallFileSystem("80m", at: "\(directory.path)/spool", log: directory) else { return }
        defer { disk.remove() }
        let rig = try UploadRig(spool: disk.path)
        let engine = rig.engine()
        let upload = try await engine.create(length: nil)
        let part = [UInt8](repeating: 1, count: 3 << 20)
        try await engine.send(part, to: upload.id, at: 0, .later, part: 1 << 18)
        let ballast = "\(disk.path)/ballast"
        try Data(repeating: 0, count: 70 << 20).write(to: URL(fileURLWithPath: ballast))
        let more = [UInt8](repeating: 1, count: 16 << 20)
        let error = try await uploadError {
            try await engine.send(more, to: upload.id, at: 3 << 20, .later, part: 1 << 18)
        }
        #expect(error.code == .noSpace)
        let offset = try await engine.upload(upload.id).offset
        #expect(offset >= 3 << 20)
        try FileManager.default.removeItem(atPath: ballast)
        let end = try await engine.send([1, 2, 3], to: upload.id, at: offset, .atEnd)
        #expect(end.state == .complete && rig.bytes(upload.id)?.count == Int(offset) + 3)
    }
}
