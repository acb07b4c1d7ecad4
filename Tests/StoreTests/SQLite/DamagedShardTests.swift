import Commands
import Foundation
import Host
import TestSupport
import Testing

@testable import Store

/// A store with a shard that is missing, foreign or damaged.
@Suite struct DamagedShardTests {
    /// The error of opening a store, or of the first submit.
    private static func problem(of data: DataDirectory, create: Bool) -> StoreError? {
        let submitted = Result { () throws(StoreError) in
            let store = try SQLiteStore(directory: data, create: create)
            for result in store.submit([.noop, .noop], allowUnknownTypes: false) { _ = try result.get() }
        }
        if case .failure(let error) = submitted { return error }
        return nil
    }

    @Test(arguments: [[0], [2], [3], [2, 3], [0, 1, 2, 3]])
    func `a missing shard is an error and is not created again`(_ missing: [Int]) throws {
        let fixture = try TemporaryStore()
        _ = try fixture.store().submitNoops(50)
        for shard in missing {
            for suffix in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: fixture.data.shard(shard) + suffix)
            }
        }
        for create in [true, false] {
            let error = Self.problem(of: fixture.data, create: create)
            #expect(error?.code == .missing)
            let name = missing.count < 4 ? fixture.data.shard(missing[0]) : fixture.data.path
            #expect(error?.message.contains(name) == true)
            #expect(error?.message.contains("run “sluice restore DIR") == true, "\(String(describing: error))")
        }
        for shard in missing { #expect(!FileManager.default.fileExists(atPath: fixture.data.shard(shard))) }
    }

    @Test func `a shard that goes missing while the store is open is not created again`() throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store()
        try FileManager.default.removeItem(atPath: fixture.data.shard(1))
        let id = CommandID(now: .now, shardByte: 1)
        let error = try #require(throws: StoreError.self) { try store.command(id) }
        #expect(error.code == .missing)
        #expect(!FileManager.default.fileExists(atPath: fixture.data.shard(1)))
    }

    @Test(arguments: ["text", "database", "newer", "other number", "other store"])
    func `a foreign file is refused by name`(_ kind: String) throws {
        let fixture = try TemporaryStore()
        _ = try fixture.store().submitNoops(50)
        let path = fixture.data.shard(1)
        let other = try TemporaryStore("other")
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
        let store = try SQLiteStore(directory: fixture.data, create: true)
        try store.openAll()
        #expect(store.problems.map(\.code) == [.foreign])
        let error = try #require(throws: StoreError.self) { try store.command(CommandID(now: .now, shardByte: 1)) }
        #expect(error.code == .foreign && error.shard == 1)
        #expect(error.message.contains(path))
    }

    @Test(arguments: [0, -1, Int(Int32.min)])
    func `a version that no program has written counts as damage`(_ version: Int) throws {
        let fixture = try TemporaryStore()
        _ = try fixture.store()
        let path = fixture.data.shard(1)
        try SQLiteProbe(path).run("PRAGMA user_version = \(version)")
        let store = try SQLiteStore(directory: fixture.data, create: true)
        try store.openAll()
        let problem = try #require(store.problems.first)
        #expect(store.problems.count == 1 && problem.code == .corrupt && problem.shard == 1)
        #expect(problem.message.contains("\(path)) is damaged: it says that its version is \(version);"))
    }

    @Test(arguments: [266, 522, 8458] as [CInt])
    func `a read error of the disk counts as damage`(_ code: CInt) {
        #expect(StoreError(sqlite: code, "disk I/O error").code == .corrupt)
    }

    @Test(arguments: ["written", "read"])
    func `an unusable shard does not keep a reap from the other shards`(_ use: String) throws {
        let fixture = try TemporaryStore()
        let path = fixture.data.shard(0)
        let before = try fixture.store()
        let ids = try before.submitNoops(40)
        try before.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 2, bootID: "b"))
        for id in ids {
            _ = try before.apply([.claim(id, sent: true)], shard: id.shard(of: 4), seat: 1, epoch: 1)
        }
        func allow(_ isAllowed: Bool) throws {
            if use == "read" {
                try FileManager.default.setAttributes(
                    [.posixPermissions: isAllowed ? 0o600 : 0o644], ofItemAtPath: path)
            } else if isAllowed {
                try SQLiteProbe(path).run("DROP TRIGGER refusal")
            } else {
                try SQLiteProbe(path).run(
                    "CREATE TRIGGER refusal BEFORE UPDATE ON command BEGIN SELECT RAISE(ABORT, 'refused'); END")
            }
        }
        try allow(false)
        // This store has not opened a shard yet.
        let store = try SQLiteStore(directory: fixture.data, create: false)
        func reap() throws(StoreError) {
            try store.reap(seat: 1, epoch: 1, DeathVerdict(charges: false, reason: "dead")) { _ in }
        }
        let error = #expect(throws: StoreError.self) { try reap() }
        let wanted: StoreError.Code = use == "read" ? .permission : .failed
        #expect(error?.code == wanted)
        for id in ids where id.shard(of: 4) != 0 { #expect(try store.command(id)?.status == .new) }
        try allow(true)
        try reap()
        #expect(try store.counts()[.new] == 40 && store.sessions().isEmpty)
    }

    @Test(arguments: ["head", "middle", "empty"])
    func `one damaged shard is named, and the others keep working`(_ kind: String) throws {
        let fixture = try TemporaryStore()
        let before = try fixture.store().submitNoops(400)
        let path = fixture.data.shard(2)
        // All rows are in the database, and none only in the WAL.
        do {
            let store = try fixture.store()
            for shard in 0..<4 { _ = try store.checkpoint(shard: shard) }
        }
        var bytes = try #require(contents(of: path))
        let pages = kind == "head" ? 0..<4096 : 4096..<bytes.count
        var random = SeededRandom.announced("damaged shard")
        bytes.replaceSubrange(pages, with: random.bytes(pages.count))
        if kind == "empty" { bytes = [] }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }

        let store = try SQLiteStore(directory: fixture.data, create: true)
        let lost = try #require(before.first { $0.shard(of: 4) == 2 })
        let error = try #require(throws: StoreError.self) { try store.command(lost) }
        #expect(error.code == .corrupt && error.shard == 2)
        #expect(error.message.contains(path) && error.message.contains("damaged"))

        // A draft without a key goes to a usable shard.
        let ids = try store.submitNoops(200)
        #expect(ids.allSatisfy { $0.shard(of: 4) != 2 })
        let key = try #require(
            (0..<100).map { "key-\($0)" }.first { key in
                let draft = CommandDraft.noop.with { $0.uniqueKey = key }
                let result = store.submit([draft], allowUnknownTypes: false)[0]
                guard case .failure(let error) = result else { return false }
                return error.code == .corrupt
            })
        #expect(!key.isEmpty)
        // A type that one shard lacks is recorded again when the shard is repaired.
        let unrecorded = #expect(throws: StoreError.self) { try store.record(types: ["thumbnail"]) }
        #expect(unrecorded?.shard == 2)
        #expect(try store.types().contains("thumbnail"))
        try store.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 1, bootID: ""))
        let alive = ids[0]
        let outcome = try store.apply(
            [.claim(alive, sent: true)], shard: alive.shard(of: 4), seat: 1, epoch: 1)
        guard case .claimed = outcome[0] else {
            Issue.record("refused")
            return
        }
        var released: [StatusEvent] = []
        try store.reap(seat: 1, epoch: 1, DeathVerdict(charges: false, reason: "died")) { effects in
            released += effects.events
        }
        #expect(released.count == 1)
        #expect(try store.counts()[.new] >= 200)
        #expect(try store.list(CommandFilter(), after: nil, limit: 1000).allSatisfy { $0.id.shard(of: 4) != 2 })
        #expect(store.problems.map(\.shard) == [2])
    }

    @Test func `the sessions of usable shards prove nothing about those of a damaged one`() throws {
        let fixture = try TemporaryStore()
        let session = Session(seat: 1, epoch: 7, pid: 1, startTime: 2, bootID: "b")
        do {
            let store = try fixture.store()
            try store.open(session, shard: 2)
            let reading = try store.sessionReading()
            #expect(reading.sessions == [session] && reading.complete?.all == [session])
        }
        try SQLiteProbe(fixture.data.shard(2)).run("PRAGMA user_version = 99")
        let store = try SQLiteStore(directory: fixture.data, create: false)
        let reading = try store.sessionReading()
        #expect(reading.sessions.isEmpty && reading.complete == nil)
        #expect(MemoryStore(shardCount: 4).sessionReading().complete?.all == [])
    }

    @Test func `without shard 0 there are no settings, and without any shard every read fails`() throws {
        let fixture = try TemporaryStore()
        let before = try fixture.store()
        _ = try before.submitNoops(40)
        try before.set("pause.*.*", to: "now")
        #expect(try before.settingsIfUsable(prefix: "pause.") == ["pause.*.*": "now"])
        for shard in 0..<4 {
            try SQLiteProbe(fixture.data.shard(shard)).run("PRAGMA user_version = 99")
            let store = try SQLiteStore(directory: fixture.data, create: false)
            #expect(try store.settingsIfUsable(prefix: "pause.").isEmpty)
            let refusal = try #require(throws: StoreError.self) { try store.set("pause.*.*", to: nil) }
            #expect(refusal.code == .foreign && refusal.shard == 0)
            if shard < 3 {
                #expect(try store.counts()[.new] < 40)
            } else {
                let error = try #require(throws: StoreError.self) { try store.counts() }
                #expect(error.code == .foreign && error.shard == 0)
            }
        }
    }
}
