import CLinux
import Commands
import Foundation
import TestSupport
import Testing

@testable import Store

/// What only files can do: be shared, be missing, be foreign, be damaged.
@Suite struct SQLiteStoreTests {
    /// A store in a directory of its own.
    private final class Place: Sendable {
        let temporary: TemporaryDirectory
        let data: DataDirectory

        init(_ name: String = "sqlite") throws {
            temporary = try TemporaryDirectory(name)
            data = DataDirectory(path: "\(temporary.path)/data")
        }

        deinit { temporary.remove() }

        func store(shards: Int = 4, walLimit: Int64? = nil) throws -> SQLiteStore {
            try SQLiteStore(directory: data, create: true, shardCount: shards, vfs: nil, walLimit: walLimit)
        }
    }

    private static func submit(
        _ store: SQLiteStore, _ count: Int = 1, now: Timestamp = .now
    ) throws -> [CommandID] {
        try store.submit([CommandDraft](repeating: .noop, count: count), allowUnknownTypes: false, now: now)
            .map { try $0.get().id }
    }

    private static func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.posixPermissions] as? Int ?? 0) & 0o777
    }

    /// Why a store cannot be used, at opening or at the first submit.
    private static func problem(of data: DataDirectory, create: Bool) -> StoreError? {
        let submitted = Result { () throws(StoreError) in
            let store = try SQLiteStore(directory: data, create: create)
            for result in store.submit([.noop, .noop], allowUnknownTypes: false, now: .now) { _ = try result.get() }
        }
        if case .failure(let error) = submitted { return error }
        return nil
    }

    /// Shards of a store that this process has open.
    private static func openShards(_ data: DataDirectory) throws -> Set<String> {
        var open: Set<String> = []
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
            else { continue }
            if target.hasPrefix(data.path), target.hasSuffix(".sqlite") { open.insert(target) }
        }
        return open
    }

    // MARK: Files

    @Test func `every connection that writes has WAL, full sync, and no checkpoint of its own`() throws {
        let place = try Place()
        let store = try place.store()
        _ = try Self.submit(store, 50)
        let wanted = [
            "journal_mode": "wal", "synchronous": "2", "wal_autocheckpoint": "0", "mmap_size": "0",
            "secure_delete": "0", "temp_store": "2", "trusted_schema": "0", "journal_size_limit": "67108864",
            "foreign_keys": "0",
        ]
        for shard in 0..<4 {
            for (name, value) in wanted { #expect(try store.pragma(name, shard: shard) == value, "\(name)") }
        }
        #expect(throws: StoreError.self) { try store.pragma("journal_mode = DELETE", shard: 0) }
    }

    @Test func `directories and files are private to their user`() throws {
        let place = try Place()
        let store = try place.store()
        try store.openAll()
        _ = try Self.submit(store, 50)
        for path in [place.data.path, place.data.run, place.data.spool, place.data.keys] {
            #expect(try Self.mode(path) == 0o700)
        }
        for shard in 0..<4 {
            for suffix in ["", "-wal", "-shm"] { #expect(try Self.mode(place.data.shard(shard) + suffix) == 0o600) }
        }
    }

    @Test(arguments: ["", "/run", "/spool", "/keys"])
    func `a directory that is open to others is refused by name`(_ name: String) throws {
        let place = try Place()
        _ = try place.store()
        let path = place.data.path + name
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        let error = try #require(throws: StoreError.self) { try place.store() }
        #expect(error.code == .permission)
        #expect(error.message.contains("\(path) ") && error.message.contains("0755"))
    }

    @Test func `a shard that is open to others is refused by name`() throws {
        let place = try Place()
        let path = place.data.shard(2)
        let store = try place.store()
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        let error = try #require(throws: StoreError.self) { try store.openAll() }
        #expect(error.code == .permission && error.message.contains(path))
    }

    @Test func `an id names its shard, and a store opens only the shards that it needs`() throws {
        let place = try Place()
        let ids = try Self.submit(try place.store(shards: 8), 200)
        let store = try SQLiteStore(directory: place.data, create: false)
        #expect(store.shardCount == 8)
        #expect(try Self.openShards(place.data).isEmpty)
        #expect(try store.command(ids[0]) != nil)
        #expect(try Self.openShards(place.data) == [place.data.shard(ids[0].shard(of: 8))])
        try store.openAll()
        #expect(try Self.openShards(place.data).count == 8)
        for shard in 0..<8 {
            let probe = try SQLiteProbe(place.data.shard(shard))
            let bytes = try probe.texts("SELECT DISTINCT hex(substr(id, 16)) FROM command")
            #expect(bytes.allSatisfy { (Int($0, radix: 16) ?? -1) % 8 == shard })
            #expect(try probe.text("SELECT value FROM meta WHERE key = 'shards'") == "8")
            #expect(try probe.number("PRAGMA user_version") == 2)
        }
    }

    @Test func `a shard of version 1 is brought up to date`() throws {
        let place = try Place()
        let id = try Self.submit(try place.store(), 1)[0]
        let path = place.data.shard(id.shard(of: try place.data.shards().count))
        try SQLiteProbe(path).run("ALTER TABLE payload DROP COLUMN kept; PRAGMA user_version = 1")
        let store = try SQLiteStore(directory: place.data, create: false)
        try store.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 1, bootID: "boot"))
        let shard = id.shard(of: store.shardCount)
        func apply(_ write: ExecutionWrite) throws -> ExecutionOutcome {
            try store.apply([write], shard: shard, seat: 1, epoch: 1, now: .now)[0]
        }
        guard case .claimed(_, _, nil, _) = try apply(.claim(id, sent: true)) else { throw Missed("the claim") }
        #expect(try apply(.keep(id, claim: 1, state: [1])) == .done([], retries: 0))
        #expect(try SQLiteProbe(path).number("PRAGMA user_version") == 2)
    }

    @Test func `a path of 200 bytes with signs in it works`() throws {
        let temporary = try TemporaryDirectory("long")
        defer { temporary.remove() }
        let name = "50% ?a=b#c ü " + String(repeating: "x", count: 190)
        let data = DataDirectory(path: "\(temporary.path)/deep/er/\(name)")
        let store = try SQLiteStore(directory: data, shardCount: 2)
        let ids = try Self.submit(store, 10)
        let again = try SQLiteStore(directory: data, create: false)
        #expect(try again.command(ids[3]) == (try store.command(ids[3])))
        #expect(try data.shards() == [0, 1])
    }

    @Test func `threads and processes that make a store at once make one`() async throws {
        let place = try Place()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    try await onThread("create-\(number)") { () throws(StoreError) in
                        let store = try SQLiteStore(directory: place.data, shardCount: 4)
                        for result in store.submit([.noop, .noop], allowUnknownTypes: false, now: .now) {
                            _ = try result.get()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try place.store().counts()[.new] == 16)
    }

    @Test func `a creation that was cut is begun anew`() throws {
        let place = try Place()
        _ = try Self.submit(try place.store(), 5)
        // As it looks when the maker was killed between two shards.
        try FileManager.default.removeItem(atPath: place.data.shard(3))
        try Data().write(to: URL(fileURLWithPath: "\(place.data.run)/creating"))
        let error = try #require(throws: StoreError.self) { try SQLiteStore(directory: place.data, create: false) }
        #expect(error.code == .missing)
        let store = try place.store()
        #expect(store.shardCount == 4)
        _ = try Self.submit(store, 5)
        #expect(try store.counts()[.new] == 5)
    }

    // MARK: What is wrong with files

    @Test(arguments: [[0], [2], [3], [2, 3], [0, 1, 2, 3]])
    func `a missing shard is an error and is not made anew`(_ missing: [Int]) throws {
        let place = try Place()
        _ = try Self.submit(try place.store(), 50)
        for shard in missing {
            for suffix in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: place.data.shard(shard) + suffix)
            }
        }
        for create in [true, false] where missing.count < 4 || !create {
            let error = Self.problem(of: place.data, create: create)
            #expect(error?.code == .missing)
            let name = missing.count < 4 ? place.data.shard(missing[0]) : place.data.path
            #expect(error?.message.contains(name) == true)
        }
        for shard in missing { #expect(!FileManager.default.fileExists(atPath: place.data.shard(shard))) }
    }

    @Test func `a shard that goes missing while the store is open is not made anew`() throws {
        let place = try Place()
        let store = try place.store()
        try FileManager.default.removeItem(atPath: place.data.shard(1))
        let id = CommandID(now: .now, shardByte: 1)
        let error = try #require(throws: StoreError.self) { try store.command(id) }
        #expect(error.code == .missing)
        #expect(!FileManager.default.fileExists(atPath: place.data.shard(1)))
    }

    @Test(arguments: ["text", "database", "newer", "other number", "other store"])
    func `a foreign file is refused by name`(_ kind: String) throws {
        let place = try Place()
        _ = try Self.submit(try place.store(), 50)
        let path = place.data.shard(1)
        let other = try Place("other")
        switch kind {
        case "text": try Data("My shopping list\n".utf8).write(to: URL(fileURLWithPath: path))
        case "newer": try SQLiteProbe(path).run("PRAGMA user_version = 99")
        case "other number": try SQLiteProbe(path).run("UPDATE meta SET value = 2 WHERE key = 'number'")
        case "other store":
            _ = try other.store()
            try Data(try #require(contents(of: other.data.shard(1)))).write(to: URL(fileURLWithPath: path))
        default:
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
            let probe = try SQLiteProbe(creating: path)
            try probe.run("CREATE TABLE song(title TEXT)")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        }
        if kind == "text" || kind == "other store" {
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        }
        let store = try SQLiteStore(directory: place.data, create: true)
        try store.openAll()
        #expect(store.problems.map(\.code) == [.foreign])
        let error = try #require(throws: StoreError.self) { try store.command(CommandID(now: .now, shardByte: 1)) }
        #expect(error.code == .foreign && error.shard == 1)
        #expect(error.message.contains(path))
    }

    @Test(arguments: ["head", "middle", "empty"])
    func `one damaged shard is named, and the others keep working`(_ kind: String) throws {
        let place = try Place()
        let before = try Self.submit(try place.store(), 400)
        let path = place.data.shard(2)
        // All of it is in the file, and not in the WAL.
        do {
            let store = try place.store()
            for shard in 0..<4 { _ = try store.checkpoint(shard: shard) }
        }
        var bytes = try #require(contents(of: path))
        let pages = kind == "head" ? 0..<4096 : 4096..<bytes.count
        for index in pages { bytes[index] = UInt8.random(in: 0...255) }
        if kind == "empty" { bytes = [] }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }

        let store = try SQLiteStore(directory: place.data, create: true)
        let lost = try #require(before.first { $0.shard(of: 4) == 2 })
        let error = try #require(throws: StoreError.self) { try store.command(lost) }
        #expect(error.code == .corrupt && error.shard == 2)
        #expect(error.message.contains(path) && error.message.contains("damaged"))

        // Whatever has no key goes to the shards that are sound.
        let ids = try Self.submit(store, 200)
        #expect(ids.allSatisfy { $0.shard(of: 4) != 2 })
        let key = try #require(
            (0..<100).map { "key-\($0)" }.first { key in
                let draft = CommandDraft.noop.with { $0.uniqueKey = key }
                let result = store.submit([draft], allowUnknownTypes: false, now: .now)[0]
                guard case .failure(let error) = result else { return false }
                return error.code == .corrupt
            })
        #expect(!key.isEmpty)
        try store.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 1, bootID: ""))
        let alive = ids[0]
        let outcome = try store.apply(
            [.claim(alive, sent: true)], shard: alive.shard(of: 4), seat: 1, epoch: 1, now: .now)
        guard case .claimed = outcome[0] else {
            Issue.record("refused")
            return
        }
        var released: [StatusEvent] = []
        try store.reap(seat: 1, epoch: 1, counts: false, begun: nil, reason: "died", now: .now) { events, _ in
            released += events
        }
        #expect(released.count == 1)
        #expect(try store.counts()[.new] >= 200)
        #expect(try store.list(CommandFilter(), after: nil, limit: 1000).allSatisfy { $0.id.shard(of: 4) != 2 })
        #expect(store.problems.map(\.shard) == [2])
    }

    // MARK: Queries

    @Test func `the hot queries are served by the indices that are meant for them`() throws {
        let place = try Place()
        _ = try Self.submit(try place.store(shards: 1), 100)
        let probe = try SQLiteProbe(place.data.shard(0))
        let plans = [
            (
                "SELECT id FROM command WHERE destination = '' AND qos = 2 AND status IN (0, 3) AND not_before = 0 "
                    + "AND turn > 5 ORDER BY turn LIMIT 10", "INDEX command_ready (destination=? AND qos=? AND rowid>?)"
            ),
            ("SELECT min(not_before) FROM command WHERE not_before > 0", "COVERING INDEX command_held_back"),
            (
                "SELECT min(open_deadline) FROM command WHERE open_deadline IS NOT NULL",
                "COVERING INDEX command_deadline"
            ),
            (
                "SELECT id FROM command WHERE status IN (1, 2) AND seat = 1 AND epoch = 2",
                "INDEX command_in_flight (seat=? AND epoch=?)"
            ),
            (
                "SELECT id FROM command WHERE type = 'a' AND ifnull(ordering_key, '') = '' AND unique_key = 'k' "
                    + "AND unique_key IS NOT NULL AND key_is_free = 0", "INDEX command_unique"
            ),
        ]
        for (sql, index) in plans {
            let plan = try probe.plan(sql)
            #expect(plan.contains(index), "\(sql): \(plan)")
            #expect(!plan.contains("TEMP B-TREE"), "\(sql): \(plan)")
        }
    }

    @Test func `what is ready is looked for in steps that do not grow with the backlog`() throws {
        let place = try Place()
        _ = try Self.submit(try place.store(shards: 1), 5000)
        let probe = try SQLiteProbe(place.data.shard(0))
        for quality in [-1, Commands.QualityOfService.default.rawValue] {
            let sql = Query.readyKeyAfter.sql.replacingOccurrences(of: "?1", with: "''")
                .replacingOccurrences(of: "?2", with: "\(quality)")
            #expect(try probe.steps(sql) < 200)
        }
    }

    // MARK: Several processes

    @Test func `two stores on the same files see each other's commits and keep the numbers`() throws {
        let place = try Place()
        let (first, second) = (try place.store(shards: 1), try place.store(shards: 1))
        var ids: [CommandID] = []
        for round in 0..<20 { ids += try Self.submit(round.isMultiple(of: 2) ? first : second, 3) }
        #expect(try first.events(shard: 0, after: 0, limit: 1000).map(\.transition.seq) == Array(1...60))
        #expect(try second.events(shard: 0, after: 0, limit: 1000).map(\.transition.id) == ids)
        try first.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 1, bootID: ""))
        _ = try first.apply([.claim(ids[0], sent: true)], shard: 0, seat: 1, epoch: 1, now: .now)
        // What the first remembers of its claim is checked against what the second did meanwhile.
        try second.reap(seat: 1, epoch: 1, counts: true, begun: nil, reason: "thought dead", now: .now) { _, _ in }
        let end = ExecutionWrite.end(ids[0], claim: 1, .success(result: nil))
        #expect(try first.apply([end], shard: 0, seat: 1, epoch: 1, now: .now) == [.replaced])
        #expect(try first.command(ids[0])?.status == .new)
    }

    @Test func `a single submit goes to a shard in which nobody commits`() throws {
        let place = try Place()
        let store = try place.store(shards: 4)
        let probes = try (0..<3).map { try SQLiteProbe(place.data.shard($0)) }
        for probe in probes { try probe.run("BEGIN IMMEDIATE") }
        for _ in 0..<20 {
            let id = try store.submit([.noop], allowUnknownTypes: false, now: .now)[0].get().id
            #expect(id.shard(of: 4) == 3)
        }
        for probe in probes { try probe.run("COMMIT") }
    }

    @Test func `whoever waits for a lock gets it when it is free`() async throws {
        let place = try Place()
        let store = try place.store(shards: 1)
        let probe = try SQLiteProbe(place.data.shard(0))
        try probe.run("BEGIN IMMEDIATE")
        async let submitted = onThread("waits") { () throws(StoreError) in
            try store.submit([.noop], allowUnknownTypes: false, now: .now)[0].get()
        }
        try await Task.sleep(for: .milliseconds(50))
        try probe.run("COMMIT")
        let id = try await submitted.id
        #expect(try store.command(id) != nil)
    }

    // MARK: Checkpoints, backup, prune

    @Test func `a checkpoint copies everything, and the next commit starts the WAL over`() throws {
        let place = try Place()
        let store = try place.store(shards: 1)
        for _ in 0..<50 { _ = try Self.submit(store, 20) }
        let grown = store.walSize(shard: 0)
        #expect(grown > 200_000)
        #expect(try store.checkpoint(shard: 0) == 0)
        #expect(store.walSize(shard: 0) == 0)
        _ = try Self.submit(store)
        #expect(store.walSize(shard: 0) > 0)
        #expect(try store.checkpoint(shard: 0) == 0)
        // A new store finds everything in the file.
        #expect(try SQLiteStore(directory: place.data, create: false).counts()[.new] == 1001)
        #expect(try store.integrityCheck(shard: 0).isEmpty)
    }

    @Test(arguments: [true, false])
    func `a writer checkpoints past 32 MB, unless somebody is there to do it`(_ isHeld: Bool) throws {
        let place = try Place()
        let store = try place.store(shards: 1)
        let descriptor = clinux_open(place.data.lock("checkpoint"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        if isHeld { try #require(flock(descriptor, LOCK_EX | LOCK_NB) == 0) }
        let large = CommandDraft.noop.with {
            $0.payload = Array("\"\(String(repeating: "x", count: 900_000))\"".utf8)
        }
        for _ in 0..<45 { _ = try store.submit([large], allowUnknownTypes: false, now: .now)[0].get() }
        let grown = store.walSize(shard: 0)
        #expect(isHeld ? grown > 40_000_000 : grown < 40_000_000)
        #expect(try store.integrityCheck(shard: 0).isEmpty)
        #expect(try store.counts()[.new] == 45)
    }

    @Test func `a WAL that somebody holds grows to its limit, and submit says who holds it`() throws {
        let place = try Place()
        let store = try place.store(shards: 1, walLimit: 1 << 20)
        _ = try Self.submit(store)
        let reader = try SQLiteProbe(place.data.shard(0))
        try reader.run("BEGIN")
        _ = try reader.number("SELECT count(*) FROM command")
        var refusal: StoreError?
        for _ in 0..<2000 where refusal == nil {
            if case .failure(let error) = store.submit([.noop], allowUnknownTypes: false, now: .now)[0] {
                refusal = error
            }
        }
        let error = try #require(refusal)
        #expect(error.code == .overloaded && error.shard == 0)
        #expect(error.message.contains("process \(ProcessInfo.processInfo.processIdentifier)"))
        try reader.run("COMMIT")
        _ = try Self.submit(store)
    }

    @Test func `a backup made while others write is sound and complete`() async throws {
        let place = try Place()
        let store = try place.store()
        let before = try Self.submit(store, 300)
        let copy = DataDirectory(path: "\(place.temporary.path)/copy")
        let writer = Task {
            try await onThread("writer") { () throws(StoreError) in
                var count = 0
                while !Task.isCancelled, count < 200 {
                    for result in store.submit([.noop, .noop], allowUnknownTypes: false, now: .now) {
                        _ = try result.get()
                    }
                    count += 1
                }
            }
        }
        var done: [Int] = []
        try store.backup(to: copy.path) { done.append($0) }
        try await writer.value
        #expect(done == [0, 1, 2, 3])
        let files = try FileManager.default.contentsOfDirectory(atPath: copy.path).filter { $0.hasPrefix("shard") }
        #expect(files.sorted() == (0..<4).map { "shard-0\($0).sqlite" })
        let restored = try SQLiteStore(directory: copy, create: false)
        for id in before { #expect(try restored.command(id) != nil) }
        for shard in 0..<4 { #expect(try restored.integrityCheck(shard: shard).isEmpty) }
        #expect(try Self.submit(restored, 4).count == 4)
        let error = try #require(throws: StoreError.self) { try store.backup(to: copy.path) { _ in } }
        #expect(error.code == .invalid)
    }

    @Test func `pruning while others write deletes what is old and nothing else`() async throws {
        let place = try Place()
        let store = try place.store(shards: 1)
        try store.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 1, bootID: ""))
        let finish: @Sendable ([CommandID], Timestamp) throws(StoreError) -> Void = { ids, now throws(StoreError) in
            _ = try store.apply(ids.map { .claim($0, sent: true) }, shard: 0, seat: 1, epoch: 1, now: now)
            _ = try store.apply(
                ids.map { .end($0, claim: 1, .success(result: [1])) }, shard: 0, seat: 1, epoch: 1, now: now)
        }
        try finish(try Self.submit(store, 1000, now: .base), .base)
        let writer = Task {
            try await onThread("writer") { () throws(StoreError) -> Int in
                for _ in 0..<50 {
                    var ids: [CommandID] = []
                    for result in store.submit([.noop, .noop], allowUnknownTypes: false, now: .now) {
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
        let probe = try SQLiteProbe(place.data.shard(0))
        #expect(try probe.number("SELECT count(*) FROM command") == kept)
        #expect(try probe.number("SELECT count(*) FROM payload") == kept)
        #expect(try probe.number("SELECT count(*) FROM result") == kept)
        #expect(try probe.number("SELECT count(*) FROM transition") == 4 * kept)
        #expect(try store.integrityCheck(shard: 0).isEmpty)
    }
}
