import Commands
import Foundation
import Host
import Store
import Synchronization
import Testing
import UploadSpool

@testable import Uploads

struct ConcatenationTests {
    private static var facts: UploadFacts {
        var facts = UploadFacts(origin: .tus)
        facts.route = "noop"
        return facts
    }

    private func parts(_ engine: UploadEngine, _ files: [[UInt8]]) async throws -> [CommandID] {
        var ids: [CommandID] = []
        for bytes in files {
            let part = try await engine.create("noop", length: Int64(bytes.count)) { $0.concatenation = .partial }
            try await engine.send(bytes, to: part.id, at: 0)
            ids.append(part.id)
        }
        return ids
    }

    @Test func `finished parts become one upload in their order`() async throws {
        let rig = try UploadRig()
        let engine = rig.engine()
        var parts: [CommandID] = []
        for number: UInt8 in 1...3 {
            let part = try await engine.create("noop", length: 2) { $0.concatenation = .partial }
            try await engine.send([number, number * 10], to: part.id, at: 0)
            // A part makes no command.
            #expect(try rig.store.command(part.id) == nil)
            parts.append(part.id)
        }
        var facts = UploadFacts(origin: .tus)
        facts.route = "noop"
        let whole = try await engine.concatenate([parts[2], parts[0]], facts)
        #expect(
            whole.state == .complete && whole.length == 4 && whole.facts.concatenation == .final([parts[2], parts[0]]))
        #expect(rig.bytes(whole.id) == [3, 30, 1, 10])
        #expect(try rig.store.command(whole.id) != nil)
        #expect(try await uploadError { try await engine.send([1], to: whole.id, at: 4) }.code == .isFinal)
        let open = try await engine.create(length: 2) { $0.concatenation = .partial }
        #expect(
            try await uploadError { try await engine.concatenate([parts[0], open.id], facts) }.code == .unfinishedPart)
        #expect(try await uploadError { try await engine.concatenate([CommandID()], facts) }.code == .notFound)
        #expect(try await uploadError { try await engine.concatenate([], facts) }.code == .invalid)
    }

    @Test(arguments: [IdempotencyKey?.none, IdempotencyKey(value: "k", token: "t")])
    func `the same concatenation again returns the first upload, with a key and without`(
        key: IdempotencyKey?
    ) async throws {
        let rig = try UploadRig(isDurable: true)
        let engine = rig.engine()
        let ids = try await parts(engine, [[1, 2], [3]])
        let whole = try await engine.concatenate(ids, Self.facts, key: key)
        for engine in [engine, rig.engine()] {
            #expect(try await engine.concatenate(ids, Self.facts, key: key) == whole)
        }
        #expect(try rig.store.counts()[.new] == 1)
        // Its client may delete the parts before it repeats the request.
        for id in ids { try await engine.terminate(id) }
        #expect(try await engine.concatenate(ids, Self.facts, key: key) == whole)
        #expect(try rig.spooledFiles() == ["\(whole.id)"])
    }

    @Test func `a key belongs to one list of parts, and other parts or properties make another final upload`()
        async throws
    {
        let rig = try UploadRig(isDurable: true)
        let engine = rig.engine()
        let ids = try await parts(engine, [[1, 2], [3]])
        let key = IdempotencyKey(value: "k", token: "t")
        let whole = try await engine.concatenate(ids, Self.facts, key: key)
        let other = try await uploadError { try await engine.concatenate([ids[0]], Self.facts, key: key) }
        #expect(other.code == .keyConflict)
        var named = Self.facts
        named.fileName = "a"
        var made = [whole.id]
        for (ids, facts) in [([ids[1], ids[0]], Self.facts), ([ids[0]], Self.facts), (ids, named)] {
            made.append(try await engine.concatenate(ids, facts).id)
        }
        #expect(Set(made).count == 4)
    }

    @Test func `the same concatenation many times at once is joined once`() async throws {
        let rig = try UploadRig(isDurable: true)
        let engine = rig.engine()
        let ids = try await parts(engine, [[UInt8](repeating: 7, count: 9_000_000), [1, 2, 3]])
        let made = try await withThrowingTaskGroup(of: Upload.self) { group in
            for _ in 0..<10 { group.addTask { try await engine.concatenate(ids, Self.facts) } }
            return try await group.reduce(into: [CommandID: Upload]()) { $0[$1.id] = $1 }
        }
        let whole = try #require(made.values.first)
        #expect(made.count == 1 && whole.state == .complete)
        #expect(rig.bytes(whole.id) == [UInt8](repeating: 7, count: 9_000_000) + [1, 2, 3])
        #expect(try rig.store.counts()[.new] == 1 && rig.spooledFiles().count == 3)
    }

    /// One of the two threads is taken, so that the pieces and a body that hands itself in again take turns on the other:
    /// after each piece comes the body, before the next piece.
    @Test func `a join of a long part gives its thread to others between two pieces`() async throws {
        let rig = try UploadRig()
        let engine = rig.engine()
        let size = 64 << 20
        let part = try await engine.create("noop", length: Int64(size)) { $0.concatenation = .partial }
        try await engine.send([UInt8](repeating: 7, count: size), to: part.id, at: 0, part: 1 << 20)
        let end = MonotonicSemaphore(value: 0)
        engine.joinThreads.perform { end.wait() }
        defer { end.signal() }
        let (answers, answer) = AsyncStream<Bool>.makeStream()
        let isJoined = Mutex(false)
        @Sendable func look() {
            let files = (try? rig.spooledFiles().filter { $0 != "\(part.id)" }) ?? []
            let isBetween = files.contains {
                let ends = Self.ends(of: "\(rig.spool.path)/\($0)", size: size)
                return ends.hasFirst && !ends.hasLast
            }
            if isBetween || isJoined.withLock(\.self) {
                answer.yield(isBetween)
            } else {
                engine.joinThreads.perform(look)
            }
        }
        engine.joinThreads.perform(look)
        _ = try await engine.concatenate([part.id], Self.facts)
        isJoined.withLock { $0 = true }
        #expect(await answers.first { _ in true } == true)
    }

    /// Whether the first and the last byte of a file were written. None of them is 0.
    private static func ends(of path: String, size: Int) -> (hasFirst: Bool, hasLast: Bool) {
        guard let file = FileHandle(forReadingAtPath: path) else { return (false, false) }
        func isWritten(_ offset: Int) -> Bool {
            guard (try? file.seek(toOffset: UInt64(offset))) != nil else { return false }
            return (try? file.read(upToCount: 1))?.first ?? 0 != 0
        }
        return (isWritten(0), isWritten(size - 1))
    }

    @Test func `a part is named once, and belongs to the token`() async throws {
        let rig = try UploadRig()
        let engine = rig.engine()
        let ids = try await parts(engine, [[1, 2], [3]])
        let twice = try await uploadError { try await engine.concatenate([ids[0], ids[1], ids[0]], Self.facts) }
        #expect(twice.code == .invalid && twice.message.contains("\(ids[0]) twice"), "\(twice)")
        var other = Self.facts
        other.token = "another"
        #expect(try await uploadError { try await engine.concatenate(ids, other) }.code == .notFound)
        #expect(try rig.spooledFiles().count == 2)
    }
}
