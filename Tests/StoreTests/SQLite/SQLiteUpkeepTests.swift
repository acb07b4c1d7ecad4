import CLinux
import Commands
import Foundation
import Host
import TestSupport
import Testing

@testable import Store

/// Checkpoints, backup and pruning of files that several processes use.
@Suite struct SQLiteUpkeepTests {
    // MARK: Several processes

    @Test func `two stores on the same files see each other's commits and share the numbers`() throws {
        let fixture = try TemporaryStore()
        let (first, second) = (try fixture.store(shards: 1), try fixture.store(shards: 1))
        var ids: [CommandID] = []
        for round in 0..<20 { ids += try (round.isMultiple(of: 2) ? first : second).submitNoops(3) }
        #expect(try first.events(shard: 0, after: 0, limit: 1000).events.map(\.transition.seq) == Array(1...60))
        #expect(try second.events(shard: 0, after: 0, limit: 1000).events.map(\.transition.id) == ids)
        try first.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 1, bootID: ""))
        _ = try first.apply([.claim(ids[0], sent: true)], shard: 0, seat: 1, epoch: 1)
        // The cached claim of the first store is compared with the row that the second has changed.
        try second.reap(seat: 1, epoch: 1, DeathVerdict(charges: true, reason: "thought dead")) { _ in }
        let end = ExecutionWrite.end(ids[0], claim: 1, .success(result: nil))
        #expect(try first.apply([end], shard: 0, seat: 1, epoch: 1)[0] == .replaced)
        #expect(try first.command(ids[0])?.status == .new)
    }

    // MARK: Checkpoints, backup, prune

    @Test func `a checkpoint copies all frames, and the next commit starts the WAL over`() throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store(shards: 1)
        for _ in 0..<50 { _ = try store.submitNoops(20) }
        let grown = store.walSize(shard: 0)
        #expect(grown > 200_000)
        #expect(try store.checkpoint(shard: 0) == 0)
        #expect(store.walSize(shard: 0) == 0)
        _ = try store.submitNoops()
        #expect(store.walSize(shard: 0) > 0)
        #expect(try store.checkpoint(shard: 0) == 0)
        // A new store finds all rows in the database.
        #expect(try SQLiteStore(directory: fixture.data, create: false).counts()[.new] == 1001)
        #expect(try store.integrityCheck(shard: 0).isEmpty)
    }

    @Test func `a checkpoint preallocates a short WAL, and commits do not make it longer`() throws {
        let fixture = try TemporaryStore()
        func bytes() -> Int64 { FileState(walOf: fixture.data.shard(0)).bytes }
        func work() throws -> [CommandID] {
            let store = try fixture.store(shards: 1)
            // Because of a reader these frames cannot all be copied: they precede the zeros.
            let reader = try SQLiteProbe(fixture.data.shard(0))
            try reader.run("BEGIN")
            _ = try reader.number("SELECT count(*) FROM command")
            var ids = try store.submitNoops(100)
            #expect(bytes() < WALSize.preallocated / 2)
            #expect(try store.checkpoint(shard: 0) > 0)
            #expect(bytes() == WALSize.preallocated)
            for _ in 0..<10 { ids += try store.submitNoops() }
            #expect(bytes() == WALSize.preallocated)
            try reader.run("COMMIT")
            return ids
        }
        let ids = try work()
        // Without the shm file the next open reads the WAL from its beginning, as after a crash.
        try FileManager.default.removeItem(atPath: fixture.data.shard(0) + "-shm")
        let store = try fixture.store(shards: 1)
        for id in ids { #expect(try store.command(id) != nil) }
        #expect(try store.integrityCheck(shard: 0).isEmpty)
    }

    @Test(arguments: [true, false])
    func `a writer checkpoints past 32 MB, unless another process holds the checkpoint lock`(_ isHeld: Bool) throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store(shards: 1)
        let descriptor = clinux_open(fixture.data.run.lock(.checkpoint), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        if isHeld { try #require(flock(descriptor, LOCK_EX | LOCK_NB) == 0) }
        let large = CommandDraft.noop.with {
            $0.payload = Array("\"\(String(repeating: "x", count: 900_000))\"".utf8)
        }
        for _ in 0..<45 { _ = try store.submit([large], allowUnknownTypes: false)[0].get() }
        let grown = store.walSize(shard: 0)
        #expect(isHeld ? grown > 40_000_000 : grown < 40_000_000)
        #expect(try store.integrityCheck(shard: 0).isEmpty)
        #expect(try store.counts()[.new] == 45)
    }

    @Test func `a submit is refused when the WAL reaches its limit, and the error names the holder`() throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store(shards: 1, walLimit: 1 << 20)
        _ = try store.submitNoops()
        let reader = try SQLiteProbe(fixture.data.shard(0))
        try reader.run("BEGIN")
        _ = try reader.number("SELECT count(*) FROM command")
        var refusal: StoreError?
        for _ in 0..<2000 where refusal == nil {
            if case .failure(let error) = store.submit([.noop], allowUnknownTypes: false)[0] {
                refusal = error
            }
        }
        let error = try #require(refusal)
        #expect(error.code == .overloaded && error.shard == 0)
        #expect(error.message.contains("process \(ProcessInfo.processInfo.processIdentifier)"))
        try reader.run("COMMIT")
        _ = try store.submitNoops()
    }

    @Test func `a command without a key goes to a shard whose WAL is not full`() throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store(shards: 2, walLimit: 1 << 20)
        _ = try store.submitNoops(10)
        let reader = try SQLiteProbe(fixture.data.shard(0))
        try reader.run("BEGIN")
        _ = try reader.number("SELECT count(*) FROM command")
        #expect(store.overloads.isEmpty)
        for count in Array(repeating: 1, count: 1000) + Array(repeating: 30, count: 20) {
            _ = try store.submitNoops(count)
            // Nothing reads from the other shard.
            _ = try store.checkpoint(shard: 1)
        }
        let problem = try #require(store.overloads.first)
        #expect(store.overloads.count == 1 && problem.shard == 0)
        #expect(problem.message.contains("process \(ProcessInfo.processInfo.processIdentifier)"), "\(problem)")
        try reader.run("COMMIT")
        _ = try store.checkpoint(shard: 0)
        #expect(store.overloads.isEmpty)
    }

    @Test func `a checkpoint truncates a long WAL, though nothing writes any more`() throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store(shards: 1)
        let large = CommandDraft.noop.with {
            $0.payload = Array("\"\(String(repeating: "x", count: 1_000_000))\"".utf8)
        }
        let reader = try SQLiteProbe(fixture.data.shard(0))
        try reader.run("BEGIN")
        _ = try reader.number("SELECT count(*) FROM command")
        for _ in 0..<80 { _ = try store.submit([large], allowUnknownTypes: false)[0].get() }
        func size() -> Int64 { FileState(walOf: fixture.data.shard(0)).bytes }
        #expect(size() > WALSize.truncatedSize)
        try reader.run("COMMIT")
        #expect(try store.checkpoint(shard: 0) == 0)
        #expect(size() <= WALSize.truncatedSize)
        #expect(try store.counts()[.new] == 80 && store.integrityCheck(shard: 0).isEmpty)
    }

    @Test func `a backup made during writes is sound and complete`() async throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store()
        let before = try store.submitNoops(300)
        let copy = DataDirectory(path: "\(fixture.directory.path)/copy")
        let writer = Task {
            try await BlockingPool.shared.run { () throws(StoreError) in
                var count = 0
                while !Task.isCancelled, count < 200 {
                    for result in store.submit([.noop, .noop], allowUnknownTypes: false) {
                        _ = try result.get()
                    }
                    count += 1
                }
            }
        }
        var done: [Int] = []
        let lost = try store.backup(to: copy.path) { if $0.isDone { done.append($0.shard) } }
        try await writer.value
        #expect(done == [0, 1, 2, 3] && lost.isEmpty)
        let files = try FileManager.default.contentsOfDirectory(atPath: copy.path).filter { $0.hasPrefix("shard") }
        #expect(files.sorted() == (0..<4).map { "shard-0\($0).sqlite" })
        let made = try SQLiteStore(directory: copy, create: false)
        for id in before { #expect(try made.command(id) != nil) }
        for shard in 0..<4 { #expect(try made.integrityCheck(shard: shard).isEmpty) }
        let error = try #require(throws: StoreError.self) { _ = try store.backup(to: copy.path) { _ in } }
        #expect(error.code == .invalid)
    }

    @Test func `a backup does not replace a store that was created there meanwhile`() throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store()
        _ = try store.submitNoops(10)
        let copy = DataDirectory(path: "\(fixture.directory.path)/copy")
        var acknowledged: [CommandID] = []
        let error = try #require(throws: StoreError.self) {
            _ = try store.backup(to: copy.path) { progress in
                guard progress.isDone, progress.shard == 3, let other = try? SQLiteStore(directory: copy, create: true)
                else { return }
                acknowledged = (try? other.submitNoops(10)) ?? []
            }
        }
        #expect(error.code == .invalid)
        #expect(acknowledged.count == 10)
        let other = try SQLiteStore(directory: copy, create: false)
        for id in acknowledged { #expect(try other.command(id) != nil) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: copy.path).allSatisfy { !$0.hasSuffix(".part") })
    }

    @Test func `a damaged shard does not end the backup of the others`() throws {
        let fixture = try TemporaryStore()
        do {
            let store = try fixture.store()
            _ = try store.submitNoops(40)
            for shard in 0..<4 { _ = try store.checkpoint(shard: shard) }
        }
        let path = fixture.data.shard(2)
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        let count = try #require(contents(of: path)).count
        try Data([UInt8](repeating: 0xA5, count: count)).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)

        let store = try SQLiteStore(directory: fixture.data, create: false)
        let copy = DataDirectory(path: "\(fixture.directory.path)/copy")
        let lost = try store.backup(to: copy.path) { _ in }
        #expect(lost.map(\.shard) == [2] && lost.map(\.code) == [.corrupt])
        #expect(try copy.shards() == [0, 1, 3])
    }

    @Test(arguments: [true, false])
    func `a backup that cannot be written leaves no files, and two backups do not meet`(_ isThere: Bool) throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store()
        _ = try store.submitNoops(40)
        let copy = DataDirectory(path: "\(fixture.directory.path)/copy")
        if isThere { #expect(mkdir(copy.path, 0o700) == 0) }
        // The state after a backup was killed. Only its directory stays.
        if isThere { _ = FileManager.default.createFile(atPath: copy.shard(0) + ".part", contents: Data([1, 2, 3])) }
        // A directory in the place of a copy, which cannot be removed.
        try FileManager.default.createDirectory(
            atPath: copy.shard(2) + ".part/x", withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: copy.path)
        #expect(throws: StoreError.self) { _ = try store.backup(to: copy.path) { _ in } }
        try FileManager.default.removeItem(atPath: copy.shard(2) + ".part")
        #expect(try FileManager.default.contentsOfDirectory(atPath: copy.path).allSatisfy { !$0.hasPrefix("shard") })

        // Two backups at once would delete each other's files.
        _ = try store.backup(to: copy.path) { progress in
            guard progress.isDone, progress.shard == 0 else { return }
            let second = #expect(throws: StoreError.self) { _ = try store.backup(to: copy.path) { _ in } }
            #expect(second?.code == .busy)
        }
        #expect(try SQLiteStore(directory: copy, create: false).counts()[.new] == 40)
    }

    @Test func `pruning during writes deletes old commands and no others`() async throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store(shards: 1)
        try store.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 1, bootID: ""))
        let finish: @Sendable ([CommandID], Timestamp) throws(StoreError) -> Void = { ids, now throws(StoreError) in
            _ = try store.apply(ids.map { .claim($0, sent: true) }, shard: 0, seat: 1, epoch: 1, now: now)
            _ = try store.apply(
                ids.map { .end($0, claim: 1, .success(result: [1])) }, shard: 0, seat: 1, epoch: 1, now: now)
        }
        try finish(try store.at(.base) { try store.submitNoops(1000) }, .base)
        let writer = Task {
            try await BlockingPool.shared.run { () throws(StoreError) -> Int in
                for _ in 0..<50 {
                    var ids: [CommandID] = []
                    for result in store.submit([.noop, .noop], allowUnknownTypes: false) {
                        ids.append(try result.get().id)
                    }
                    try finish(ids, .now)
                }
                return 100
            }
        }
        var pruned = 0
        while true {
            let batch = try store.prune(shard: 0, before: .base + .seconds(1), statuses: [.success], limit: 50).count
            #expect(batch <= 50)
            if batch == 0 { break }
            pruned += batch
        }
        #expect(pruned == 1000)
        let kept = try await writer.value
        #expect(try store.counts()[.success] == kept)
        let probe = try SQLiteProbe(fixture.data.shard(0))
        #expect(try probe.number("SELECT count(*) FROM command") == kept)
        #expect(try probe.number("SELECT count(*) FROM payload") == kept)
        #expect(try probe.number("SELECT count(*) FROM result") == kept)
        #expect(try probe.number("SELECT count(*) FROM transition") == 4 * kept)
        #expect(try store.integrityCheck(shard: 0).isEmpty)
    }
}
