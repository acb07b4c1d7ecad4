import Commands
import Dispatch
import Store
import TestSupport
import Testing
import UploadSpool
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

    private static let key = IdempotencyKey(value: "k", token: "t")

    @Test(arguments: [false, true])
    func `the same small upload with its key again returns the first, and makes no other command`(
        _ isRestarted: Bool
    ) async throws {
        let rig = try UploadRig(isDurable: true)
        let engine = rig.engine()
        let first = try await engine.store(Self.facts("noop"), [1, 2, 3], key: Self.key)
        #expect(first.storage == .row)
        let next = isRestarted ? rig.engine() : engine
        _ = try await next.recover()
        #expect(try await next.store(Self.facts("noop"), [1, 2, 3], key: Self.key) == first)
        #expect(try rig.store.counts()[.new] == 1)
        for (route, bytes) in [("noop", [1, 2, 4]), ("noop", [1, 2]), ("key", [1, 2, 3])] as [(String, [UInt8])] {
            let refused = try await uploadError { try await next.store(Self.facts(route), bytes, key: Self.key) }
            #expect(refused.code == .keyConflict && refused.message.contains("\(first.id)"))
        }
        let other = IdempotencyKey(value: "k", token: "another")
        #expect(try await next.store(Self.facts("noop"), [1, 2, 3], key: other).id != first.id)
        #expect(try rig.spooledFiles().count == 2)
    }

    @Test func `a key is in use while its small upload is stored`() async throws {
        let (isStoring, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        var rules = TestRules()
        rules.beforeSubmission = {
            isStoring.signal()
            mayEnd.wait()
        }
        let rig = try UploadRig(rules: rules)
        let engine = rig.engine()
        let first = Task { try await engine.store(Self.facts("noop"), [1], key: Self.key) }
        try await until("the first request") { isStoring.wait(timeout: .now()) == .success }
        let refused = try await uploadError { try await engine.store(Self.facts("noop"), [1], key: Self.key) }
        #expect(refused.code == .keyInUse)
        mayEnd.signal()
        let upload = try await first.value
        #expect(try await engine.store(Self.facts("noop"), [1], key: Self.key) == upload)
        #expect(try rig.store.counts()[.new] == 1)
    }

    @Test func `a small upload that has begun as a file goes on as one`() async throws {
        let rig = try UploadRig()
        let engine = rig.engine()
        let begun = try await engine.create(Self.facts("noop"), length: 3, key: Self.key)
        let error = try await uploadError {
            try await engine.send([1, 2, 3], to: begun.id, at: 0, .atEnd, cutsAfter: 1)
        }
        #expect(error.code == .interrupted)
        let whole = try await engine.store(Self.facts("noop"), [1, 2, 3], key: Self.key)
        #expect(whole.id == begun.id && whole.state == .complete && whole.storage == .file)
        #expect(rig.bytes(begun.id) == [1, 2, 3])
        #expect(try await engine.store(Self.facts("noop"), [1, 2, 3], key: Self.key) == whole)
    }

    @Test func `a key outlives the bytes and the success of its command by a day`() async throws {
        let rig = try UploadRig(isDurable: true)
        let engine = rig.engine()
        let first = try await engine.store(Self.facts("noop"), [1, 2, 3], key: Self.key)
        try rig.succeed([first.id])
        rig.advance(.seconds(100))
        while await engine.tidy() > 0 {}
        #expect(try rig.spooledFiles().isEmpty && rig.store.uploadBody(first.id) == nil)
        let again = try await engine.store(Self.facts("noop"), [1, 2, 3], key: Self.key)
        #expect(again.id == first.id && again.command == first.id && again.state == .complete)
        rig.advance(.seconds(86_400))
        while await engine.tidy() > 0 {}
        #expect(try rig.store.upload(first.id) == nil)
        #expect(try await engine.store(Self.facts("noop"), [1, 2, 3], key: Self.key).id != first.id)
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
        try rig.succeed(ids)
        rig.advance(.seconds(100))
        while await engine.tidy() > 0 {}
        #expect(try rig.spooledFiles().isEmpty)
        #expect(try rig.store.uploadBody(ids[0]) == nil && rig.store.upload(ids[0]) == nil)
    }
}
