import Commands
import Crypto
import Host
import Store
import TestSupport
import Testing

@testable import Uploads

/// A request continues an upload only where its bytes, and what it states, are proved to be those of the upload.
struct UploadContinuationTests {
    private static let size = 300_000
    private static let key = IdempotencyKey(value: "k", token: "t")
    private let rig: UploadRig
    private let engine: UploadEngine
    private let bytes: [UInt8]
    /// Differs in one byte of the first half.
    private let other: [UInt8]

    init() throws {
        rig = try UploadRig(isDurable: true)
        engine = rig.engine()
        var random = SeededRandom.announced("UploadContinuationTests")
        bytes = random.bytes(Self.size)
        var other = bytes
        other[70_000] ^= 1
        self.other = other
    }

    private func facts(_ origin: UploadProtocol = .plain, _ route: String? = "noop") -> UploadFacts {
        var facts = UploadFacts(origin: origin)
        facts.route = route
        return facts
    }

    /// Creates under the key, and sends bytes from the first one on, as PUT and POST do.
    private func send(
        _ bytes: [UInt8], _ engine: UploadEngine? = nil, origin: UploadProtocol = .plain, length: Int64? = nil,
        isChunked: Bool = false, cutsAfter cut: Int? = nil
    ) async throws -> Upload {
        let engine = engine ?? self.engine
        let length = isChunked ? nil : length ?? Int64(bytes.count)
        let upload = try await engine.create(facts(origin), length: length, key: Self.key)
        return try await engine.send(bytes, to: upload.id, at: 0, .atEnd, cutsAfter: cut) { request in
            request.isRepeat = true
            if isChunked { request.size = nil }
        }
    }

    @Test(arguments: [false, true], [UploadProtocol.plain, .form])
    func `a repeat with other bytes is refused, and the first file stays whole`(
        isChunked: Bool, origin: UploadProtocol
    ) async throws {
        let cut = try await uploadError {
            try await send(bytes, origin: origin, isChunked: isChunked, cutsAfter: 150_000)
        }
        #expect(cut.code == .interrupted && cut.offset == 150_000)
        let mixed = try await uploadError { try await send(other, origin: origin, isChunked: isChunked) }
        #expect(mixed.code == .keyConflict && mixed.offset == 150_000, "\(mixed)")
        let whole = try await send(bytes, origin: origin, isChunked: isChunked)
        #expect(whole.state == .complete && rig.bytes(whole.id) == bytes)
        #expect(try rig.store.counts()[.new] == 1)
    }

    @Test(arguments: [false, true])
    func `after the completion too, other bytes are refused as long as the key is kept`(
        isDropped: Bool
    ) async throws {
        let whole = try await send(bytes)
        if isDropped {
            try rig.succeed([whole.id])
            rig.advance(.seconds(100))
            while await engine.tidy() > 0 {}
            #expect(rig.bytes(whole.id) == nil)
        }
        for engine in [engine, rig.engine()] {
            #expect(try await send(bytes, engine).id == whole.id)
            #expect(try await send(bytes, engine, isChunked: true).id == whole.id)
            for wrong in [other, Array(bytes.dropLast()), bytes + [0], []] {
                for isChunked in [false, true] {
                    let error = try await uploadError { try await send(wrong, engine, isChunked: isChunked) }
                    #expect(error.code == .keyConflict, "\(wrong.count) bytes: \(error)")
                }
            }
        }
        let cut = try await uploadError { try await send(bytes, cutsAfter: 1000) }
        #expect(cut.code == .interrupted)
    }

    @Test func `fewer or more bytes than the upload has are not its repeat`() async throws {
        _ = try await uploadError { try await send(bytes, isChunked: true, cutsAfter: 150_000) }
        for count in [0, 1, 149_999] {
            let short = try await uploadError { try await send(Array(bytes[..<count]), isChunked: true) }
            #expect(short.code == .keyConflict && short.offset == 150_000, "\(count): \(short)")
        }
        // The first request announced no length, so that its end may be anywhere after its bytes.
        let whole = try await send(Array(bytes[..<150_000]))
        #expect(whole.state == .complete && rig.bytes(whole.id) == Array(bytes[..<150_000]))
    }

    @Test func `a cut repeat keeps the bytes that the upload had`() async throws {
        for cut in [200_000, 150_000, 100_000] {
            let error = try await uploadError { try await send(bytes, cutsAfter: cut) }
            #expect(error.code == .interrupted && error.offset == 200_000)
        }
        let more = try await uploadError { try await send(bytes, cutsAfter: 250_000) }
        #expect(more.offset == 250_000)
        let whole = try await send(bytes)
        #expect(whole.state == .complete && rig.bytes(whole.id) == bytes)
    }

    @Test(arguments: [Int?.none, 150_000])
    func `a wrong checksum of a repeat is found over the bytes that are skipped`(cut: Int?) async throws {
        if let cut { _ = try await uploadError { try await self.send(bytes, origin: .tus, cutsAfter: cut) } }
        let upload = try await engine.create(facts(.tus), length: Int64(Self.size), key: Self.key)
        let right = UploadDigest(.sha1, Array(Insecure.SHA1.hash(data: bytes)))
        let wrong = UploadDigest(.sha1, Array(Insecure.SHA1.hash(data: other)))
        func send(_ checksum: UploadDigest?) async throws -> Upload {
            try await engine.send(bytes, to: upload.id, at: 0) { request in
                request.isRepeat = true
                request.checksum = checksum
            }
        }
        let error = try await uploadError { try await send(wrong) }
        #expect(error.code == .checksumMismatch && error.offset == Int64(cut ?? 0))
        #expect(try await send(right).state == .complete)
        #expect(rig.bytes(upload.id) == bytes)
    }

    /// The next part is gathered already when the difference is found.
    @Test func `no part is written after one that differs`() async throws {
        let file = try SpoolFile("\(rig.directory.path)/file")
        try file.write(Array("abcd".utf8), at: 0)
        var upload = Upload(id: CommandID(), length: 12, facts: facts(), createdAt: rig.now)
        upload.offset = 4
        let disk = BlockingPool(named: "test", maxThreads: 1)
        let written = Shared<[Range<Int64>]>([])
        let receiver = FileReceiver(
            file, on: disk, of: upload, start: 0, limit: 12, algorithms: [], checksum: nil, partSize: { 4 },
            reserve: { _ in }, written: { range in written.change { $0.append(range) } })
        for part in ["abxd", "efgh"] {
            Array(part.utf8).withUnsafeBytes { receiver.add($0) }
            try? await receiver.flush()
        }
        let error = try await uploadError { try await receiver.finish() }
        #expect(error.code == .keyConflict && written.value.isEmpty, "\(error)")
        #expect(try file.size == 4)
    }

    @Test func `a creation with a part of the bytes may be repeated later`() async throws {
        let part = Array(bytes[..<100_000])
        let upload = try await engine.create(facts(.tus), length: Int64(Self.size), key: Self.key)
        func repeated(_ bytes: [UInt8]) async throws -> Upload {
            try await engine.send(bytes, to: upload.id, at: 0) { $0.isRepeat = true }
        }
        #expect(try await repeated(part).offset == 100_000)
        try await engine.send(Array(bytes[100_000..<200_000]), to: upload.id, at: 100_000)
        #expect(try await repeated(part).offset == 200_000)
        #expect(try await repeated([]).offset == 200_000)
        #expect(try await uploadError { try await repeated(Array(other[..<100_000])) }.code == .keyConflict)
        try await engine.send(Array(bytes[200_000...]), to: upload.id, at: 200_000)
        #expect(rig.bytes(upload.id) == bytes)
        // The digest is that of all bytes, whichever requests have brought them.
        #expect(try await repeated(bytes).state == .complete)
        #expect(try await uploadError { try await repeated(other) }.code == .keyConflict)
        // A part alone cannot be compared with a digest of the whole.
        #expect(try await uploadError { try await repeated(part) }.code == .keyConflict)
    }

    @Test func `a small repeat is compared with a file, and with a file that is complete`() async throws {
        let small = Array(bytes[..<1000])
        var wrong = small
        wrong[10] ^= 1
        _ = try await uploadError { try await send(small, isChunked: true, cutsAfter: 500) }
        for bytes in [wrong, Array(small[..<400])] {
            let error = try await uploadError { try await engine.store(facts(), bytes, key: Self.key) }
            #expect(error.code == .keyConflict)
        }
        let whole = try await engine.store(facts(), small, key: Self.key)
        #expect(whole.state == .complete && rig.bytes(whole.id) == small)
        #expect(try await uploadError { try await engine.store(facts(), wrong, key: Self.key) }.code == .keyConflict)
        #expect(try await engine.store(facts(), small, key: Self.key) == whole)
    }

    @Test func `a request for the rest states what the creation has stated`() async throws {
        var facts = facts(.tus)
        facts.metadata = "filename YQ=="
        facts.digest = UploadDigest(.sha256, Array(SHA256.hash(data: bytes)))
        let upload = try await engine.create(facts, length: Int64(Self.size), key: nil)
        let wrong = UploadDigest(.sha256, Array(SHA256.hash(data: other)))
        func sent(_ change: (inout UploadAppend) -> Void) async throws -> UploadError {
            try await uploadError {
                try await engine.send(bytes, to: upload.id, at: 0, .atLength, part: 1000, cutsAfter: nil, change)
            }
        }
        #expect(try await sent { $0.metadata = "filename Yg==" }.code == .inconsistentStatement)
        #expect(try await sent { $0.digest = wrong }.code == .inconsistentStatement)
        #expect(try await sent { $0.length = 5 }.code == .inconsistentLength)
        let whole = try await engine.send(bytes, to: upload.id, at: 0) {
            ($0.metadata, $0.digest) = (facts.metadata, facts.digest)
        }
        #expect(whole.state == .complete)
    }

    @Test func `a digest that only the last request states is checked`() async throws {
        let upload = try await engine.create(facts(.resumable), length: Int64(Self.size), key: nil)
        try await engine.send(Array(other[..<150_000]), to: upload.id, at: 0)
        let error = try await uploadError {
            try await engine.send(Array(bytes[150_000...]), to: upload.id, at: 150_000) {
                $0.digest = UploadDigest(.sha256, Array(SHA256.hash(data: bytes)))
            }
        }
        #expect(error.code == .digestMismatch)
        #expect(try await uploadError { try await engine.upload(upload.id) }.code == .gone)
    }

    @Test func `only an upload with a key keeps the digest of its bytes`() async throws {
        let plain = try await engine.create(facts(), length: 3, key: nil)
        try await engine.send([1, 2, 3], to: plain.id, at: 0, .atEnd)
        #expect(try rig.store.upload(plain.id)?.fingerprint == nil)
        let keyed = try await send([1, 2, 3])
        let content = try rig.store.upload(keyed.id)?.fingerprint?.content
        #expect(content == Array(SHA256.hash(data: [1, 2, 3])))
    }

    @Test func `seeded cuts and changed bytes under one key deliver no mixture`() async throws {
        var random = SeededRandom.announced("UploadContinuationTests.mixtures")
        var whole = 0
        for number in 0..<40 {
            let key = IdempotencyKey(value: "mixture \(number)", token: "t")
            let first = random.bytes(Int.random(in: 1...120_000, using: &random))
            var files = [first]
            for _ in 0..<3 {
                var file = first
                let index = Int.random(in: 0..<file.count, using: &random)
                file[index] ^= UInt8.random(in: 1...255, using: &random)
                files.append(file)
            }
            for _ in 0..<12 {
                let file = files.randomElement(using: &random) ?? first
                let cut = Bool.random(using: &random) ? Int.random(in: 1...file.count, using: &random) : nil
                let isChunked = Bool.random(using: &random)
                _ = try? await {
                    let length = isChunked ? nil : Int64(file.count)
                    let upload = try await engine.create(facts(), length: length, key: key)
                    try await engine.send(file, to: upload.id, at: 0, .atEnd, part: 700, cutsAfter: cut) {
                        $0.isRepeat = true
                        if isChunked { $0.size = nil }
                    }
                }()
            }
            guard let stored = try rig.store.upload(idempotencyKey: key.stored), stored.state == .complete else {
                continue
            }
            whole += 1
            let content = try #require(rig.bytes(stored.id))
            #expect(files.contains(content), "upload \(number) is a mixture")
        }
        #expect(whole > 20)
    }
}
