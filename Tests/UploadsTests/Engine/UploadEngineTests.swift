import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing
import UploadSpool
import Uploads

struct UploadEngineTests {
    @Test func `bytes of several requests become one file and one command`() async throws {
        let rig = try UploadRig(isDurable: true)
        let engine = rig.engine()
        var random = SeededRandom.announced("UploadEngineTests")
        let bytes = random.bytes(300_000)
        let upload = try await engine.create("noop", length: 300_000)
        #expect(upload.state == .open && upload.offset == 0)
        let half = try await engine.send(Array(bytes[..<100_001]), to: upload.id, at: 0)
        #expect(half.offset == 100_001 && half.state == .open)
        #expect(try rig.store.command(upload.id) == nil)
        let whole = try await engine.send(Array(bytes[100_001...]), to: upload.id, at: 100_001)
        #expect(whole.state == .complete && whole.command == upload.id && whole.offset == 300_000)
        #expect(rig.bytes(upload.id) == bytes)
        #expect(try rig.store.command(upload.id)?.status == .new)
        #expect(rig.hinted == [upload.id])
        // The response was lost: the last request again changes nothing.
        #expect(try await engine.send([], to: upload.id, at: 300_000) == whole)
        let error = try await uploadError { try await engine.send([1], to: upload.id, at: 300_000) }
        #expect(error.code == .complete && error.offset == 300_000)
    }

    @Test func `a request that does not begin at the offset changes nothing`() async throws {
        let rig = try UploadRig()
        let engine = rig.engine()
        let upload = try await engine.create(length: 10)
        try await engine.send([1, 2, 3], to: upload.id, at: 0)
        for offset: Int64 in [0, 2, 4, 10] {
            let error = try await uploadError { try await engine.send([9], to: upload.id, at: offset) }
            #expect(error.code == .offsetMismatch(expected: 3) && error.offset == 3)
        }
        #expect(try await engine.upload(upload.id).offset == 3)
        #expect(rig.bytes(upload.id) == [1, 2, 3])
    }

    @Test func `a cut request keeps the bytes that came`() async throws {
        let rig = try UploadRig(isDurable: true)
        let engine = rig.engine()
        let upload = try await engine.create("noop", length: 5000)
        let bytes = (0..<5000).map { UInt8(truncatingIfNeeded: $0) }
        let error = try await uploadError { try await engine.send(bytes, to: upload.id, at: 0, cutsAfter: 1234) }
        #expect(error.code == .interrupted && error.offset == 1234)
        // Its body ended before all announced bytes came, without an error.
        let short = try await uploadError {
            try await engine.send([1, 2], to: upload.id, at: 1234, .atEnd) { $0.size = 3766 }
        }
        #expect(short.code == .interrupted && short.offset == 1236)
        #expect(try await rig.engine().upload(upload.id).offset == 1236)
        #expect(try await engine.upload(upload.id).state == .open)
    }

    @Test func `a new request takes an upload over from a client that is gone`() async throws {
        let rig = try UploadRig()
        let engine = rig.engine()
        let upload = try await engine.create(length: 4000)
        let (sent, continuation) = AsyncStream<Void>.makeStream()
        let first = Task {
            try await engine.append(UploadAppend(offset: 0, size: 4000, completion: .atLength), to: upload.id) {
                receiver in
                [UInt8](repeating: 7, count: 1500).withUnsafeBytes { receiver.add($0) }
                continuation.yield()
                // A half-open connection brings nothing more.
                try await Task.sleep(for: .seconds(600))
            }
        }
        for await _ in sent { break }
        #expect(try await engine.upload(upload.id).offset == 1500)
        let error = try await uploadError { try await first.value }
        #expect(error.code == .interrupted && error.offset == 1500)
        let rest = [UInt8](repeating: 8, count: 2500)
        #expect(try await engine.send(rest, to: upload.id, at: 1500).state == .complete)
    }

    @Test(arguments: [2, 3])
    func `a request whose upload another process ends states no offset`(length: Int64) async throws {
        let rig = try UploadRig()
        let engine = rig.engine()
        let upload = try await engine.create(length: length)
        let request = UploadAppend(offset: 0, size: 2, completion: .atLength)
        let error = try await uploadError {
            try await engine.append(request, to: upload.id) { receiver in
                [1, 2].withUnsafeBytes { receiver.add(UnsafeRawBufferPointer(rebasing: $0.prefix(2))) }
                try await receiver.flush()
                // As `sluice uploads remove` does.
                let end = UploadWrite.end(upload.id, reason: "removed", due: nil)
                _ = try rig.store.apply([end], shard: upload.id.shard(of: 2))
            }
        }
        #expect(error.code == .gone && error.message.contains("removed"), "\(error)")
    }

    @Test func `more bytes than the length are refused, and none of them is kept`() async throws {
        let rig = try UploadRig { $0.maxSize = 100 }
        let engine = rig.engine()
        let tooLong = try await uploadError { try await engine.create(length: 101) }
        #expect(tooLong.code == .tooLarge(limit: 100))
        let upload = try await engine.create(length: 10)
        let announced = try await uploadError {
            try await engine.send(.init(repeating: 1, count: 11), to: upload.id, at: 0)
        }
        #expect(announced.code == .tooLarge(limit: 10) && announced.offset == 0)
        let chunked = try await uploadError {
            try await engine.send(.init(repeating: 1, count: 11), to: upload.id, at: 0, part: 4) { $0.size = nil }
        }
        #expect(chunked.code == .tooLarge(limit: 10) && chunked.offset == 0)
        // Without a length, the limit of the door holds.
        let open = try await engine.create(length: nil)
        let endless = try await uploadError {
            try await engine.send(.init(repeating: 1, count: 101), to: open.id, at: 0, .atEnd) { $0.size = nil }
        }
        #expect(endless.code == .tooLarge(limit: 100))
        #expect(try await engine.upload(upload.id).offset == 0)
    }

    @Test func `the size that a route takes binds its uploads`() async throws {
        let rig = try UploadRig(rules: TestRules(sizes: ["noop": 5]))
        let engine = rig.engine()
        #expect(try await uploadError { try await engine.create("noop", length: 6) }.code == .tooLarge(limit: 5))
        #expect(try await engine.create("noop", length: 5).state == .open)
        #expect(try await uploadError { try await engine.create("unknown", length: 5) }.code == .invalid)
    }

    @Test func `an unknown length is stated by a later request, or by the end of the last`() async throws {
        let rig = try UploadRig()
        let engine = rig.engine()
        let tus = try await engine.create("noop", length: nil)
        #expect(try await engine.send([1], to: tus.id, at: 0).state == .open)
        #expect(try await engine.send([2], to: tus.id, at: 1) { $0.length = 3 }.length == 3)
        let error = try await uploadError { try await engine.send([3], to: tus.id, at: 2) { $0.length = 4 } }
        #expect(error.code == .inconsistentLength)
        #expect(try await engine.send([3], to: tus.id, at: 2).state == .complete)

        let other = try await engine.create("noop", length: 2)
        // All bytes are there, and the client has not said that they are all.
        let open = try await engine.send([1, 2], to: other.id, at: 0, .later)
        #expect(open.state == .open && open.offset == 2)
        #expect(try rig.store.command(other.id) == nil)
        #expect(try await engine.send([], to: other.id, at: 2, .atEnd).state == .complete)
        #expect(try rig.store.command(other.id) != nil)
    }

    @Test(arguments: [UploadDigest.Algorithm.sha256, .sha512, .sha1, .md5, .crc32], [false, true])
    func `bytes without their checksum are dropped`(_ algorithm: UploadDigest.Algorithm, _ isTrailer: Bool) async throws
    {
        // Of the text “sluice”.
        let digests: [UploadDigest.Algorithm: String] = [
            .sha256: "0f5aec3c8edf964bb5260e4ae806d31feaab06f39a65ddba9d86e499bfae8476",
            .sha512: "4719c39f4522926ba688a4dd7dec53e9b8d0a45958b9d4be89caea66f8c3bd56"
                + "2c188b7092b70b52b9a024d6a57b45675e121754d9a24602bdf2246ffea61325",
            .sha1: "bac9c3029ea6380aa37a31f0165084711ae0d44d", .md5: "56c4228bc58d4cdf3ff01c3fc6e84189",
            .crc32: "08594932",
        ]
        let right = try #require(
            Hexadecimal.bytes(digests[algorithm] ?? "").flatMap { UploadDigest(algorithm, $0) })
        let rig = try UploadRig()
        let engine = rig.engine()
        let upload = try await engine.create("noop", length: 7)
        try await engine.send([UInt8(ascii: ">")], to: upload.id, at: 0)
        func send(_ text: String, cutsAfter cut: Int? = nil) async throws -> Upload {
            let bytes = Array(text.utf8)
            var request = UploadAppend(offset: 1, size: Int64(bytes.count), completion: .atLength)
            if isTrailer { request.hasTrailingChecksum = true } else { request.checksum = right }
            return try await engine.append(request, to: upload.id) { receiver in
                bytes[..<(cut ?? bytes.count)].withUnsafeBytes { receiver.add($0) }
                try await receiver.flush()
                if cut != nil { throw CutConnection() }
                if isTrailer { receiver.setChecksum(right) }
            }
        }
        #expect(try await uploadError { try await send("slvice") }.code == .checksumMismatch)
        // Bytes that cannot be verified are not kept.
        let cut = try await uploadError { try await send("sluice", cutsAfter: 3) }
        #expect(cut.code == .interrupted && cut.offset == 1)
        #expect(rig.bytes(upload.id) == [UInt8(ascii: ">")])
        #expect(try await engine.upload(upload.id).offset == 1)
        #expect(try await send("sluice").state == .complete)
        #expect(rig.bytes(upload.id) == Array(">sluice".utf8))
    }

    @Test func `bytes are counted when they come, when they are durable, and when they become a command`() async throws
    {
        let rig = try UploadRig()
        let engine = rig.engine()
        let upload = try await engine.create("noop", length: 7)
        try await engine.send([1, 2, 3], to: upload.id, at: 0)
        let origin = upload.facts.origin
        #expect(engine.statistics.counts.received[origin] == 3 && engine.statistics.counts.durable[origin] == 3)
        #expect(engine.statistics.counts.commands.isEmpty)
        var request = UploadAppend(offset: 3, size: 4, completion: .atLength)
        request.checksum = UploadDigest(.crc32, [0, 0, 0, 0])
        _ = try await uploadError {
            try await engine.append(request, to: upload.id) { receiver in
                [4, 5, 6, 7].withUnsafeBytes { receiver.add(UnsafeRawBufferPointer(rebasing: $0.prefix(4))) }
                try await receiver.flush()
            }
        }
        // They came, and were dropped.
        #expect(engine.statistics.counts.received[origin] == 7 && engine.statistics.counts.durable[origin] == 3)
        #expect(engine.statistics.counts.errors == [.checksumMismatch: 1])
        try await engine.send([4, 5, 6, 7], to: upload.id, at: 3)
        #expect(engine.statistics.counts.received[origin] == 11 && engine.statistics.counts.durable[origin] == 7)
        #expect(engine.statistics.counts.commands == ["noop": 1] && engine.statistics.counts.completed[origin] == 1)
    }

    @Test func `an upload without its digest ends, and no command is made of it`() async throws {
        let rig = try UploadRig()
        let engine = rig.engine()
        let upload = try await engine.create("noop", length: 3) { $0.digest = UploadDigest(.crc32, [0, 0, 0, 0]) }
        let error = try await uploadError { try await engine.send([1, 2, 3], to: upload.id, at: 0) }
        #expect(error.code == .digestMismatch)
        #expect(try await uploadError { try await engine.upload(upload.id) }.code == .gone)
        #expect(try rig.store.command(upload.id) == nil && rig.bytes(upload.id) == nil)
    }

    @Test(arguments: [false, true])
    func `an upload that the configuration does not take any more keeps its bytes until it expires`(
        isFromStore: Bool
    ) async throws {
        let rig = try UploadRig(isDurable: true)
        // The store refuses the command of the route “refused”.
        let route = isFromStore ? "refused" : "noop"
        let upload = try await rig.engine().create(route, length: 3)
        let engine = isFromStore ? rig.engine() : rig.engine(rules: TestRules(removed: [route]))
        let recovery = try await engine.recover()
        #expect(recovery.routes == [route: 1])
        try await engine.send([1, 2], to: upload.id, at: 0)
        let error = try await uploadError { try await engine.send([3], to: upload.id, at: 2) }
        #expect(error.code == .unavailable && error.offset == 3 && error.message.contains("stay"), "\(error)")
        #expect(try rig.store.upload(upload.id)?.state == .open && rig.bytes(upload.id) == [1, 2, 3])
        if !isFromStore {
            // The route is back, and the client repeats the end.
            #expect(try await rig.engine().send([], to: upload.id, at: 3).command == upload.id)
            return
        }
        rig.advance(rig.limits.maxAge + .seconds(1))
        while await engine.tidy() > 0 {}
        #expect(rig.bytes(upload.id) == nil)
    }

    @Test func `a creation whose unique key is taken is refused with its holder`() async throws {
        let rig = try UploadRig(isDurable: true)
        let engine = rig.engine()
        let first = try await engine.create("key", length: 1)
        let second = try await engine.create("key", length: 1)
        try await engine.send([1], to: first.id, at: 0)
        let refused = try await uploadError { try await engine.create("key", length: 1) }
        #expect(refused.code == .uniqueKeyTaken(holder: first.id) && refused.message.contains("daily"), "\(refused)")
        // An equal upload that was begun before becomes the same command, and its bytes go.
        #expect(try await engine.send([1], to: second.id, at: 0).command == first.id)
        #expect(rig.bytes(first.id) == [1] && rig.bytes(second.id) == nil)
        // Its own idempotency key finds an upload before that.
        let keyed = try await uploadError { try await engine.create("key", length: 1, key: "k") }
        #expect(keyed.code == .uniqueKeyTaken(holder: first.id))
        _ = try rig.store.cancel([first.id], shard: first.id.shard(of: 2), reason: "test")
        let next = try await engine.create("key", length: 1, key: "k")
        try await engine.send([1], to: next.id, at: 0)
        #expect(try await engine.create("key", length: 1, key: "k").id == next.id)
    }

    @Test func `an empty upload is complete once it is created`() async throws {
        let rig = try UploadRig()
        let upload = try await rig.engine().create("noop", length: 0)
        #expect(upload.state == .complete && upload.command == upload.id)
        #expect(rig.bytes(upload.id) == [])
    }

    @Test func `a terminated upload is gone, with its bytes`() async throws {
        let rig = try UploadRig()
        let engine = rig.engine()
        let upload = try await engine.create(length: 5)
        try await engine.send([1], to: upload.id, at: 0)
        try await engine.terminate(upload.id)
        #expect(rig.bytes(upload.id) == nil)
        for code in try [
            await uploadError { try await engine.upload(upload.id) },
            await uploadError { try await engine.terminate(upload.id) },
            await uploadError { try await engine.send([1], to: upload.id, at: 1) },
        ].map(\.code) { #expect(code == .gone) }
        #expect(try await uploadError { try await engine.upload(CommandID()) }.code == .notFound)
        // One that has become a command is cancelled, not terminated.
        let whole = try await engine.create("noop", length: 0)
        #expect(try await uploadError { try await engine.terminate(whole.id) }.code == .complete)
    }

    @Test func `the same request with an idempotency key makes one upload`() async throws {
        let rig = try UploadRig()
        let engine = rig.engine()
        let upload = try await engine.create(length: 5, key: "k")
        #expect(try await engine.create(length: 5, key: "k").id == upload.id)
        #expect(try await rig.engine().create(length: 5, key: "k").id == upload.id)
        #expect(try await engine.create(length: 5, key: "l").id != upload.id)
        #expect(try await uploadError { try await engine.create(length: 6, key: "k") }.code == .keyConflict)
        try await engine.terminate(upload.id)
        #expect(try await engine.create(length: 6, key: "k").id != upload.id)
    }
}
