import Commands
import Host
import TestSupport
import Testing

@testable import Store

/// Stores that are not copied.
@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)), .postgreSQLServer)
struct StoreCopyRefusalTests {
    private let rig: StoreCopyRig

    init() throws { rig = try StoreCopyRig() }

    @Test(arguments: [true, false])
    func `a target that is not empty, or has another number of shards, is refused and unchanged`(_ isToPostgreSQL: Bool)
        throws
    {
        let first = isToPostgreSQL ? rig.sqlite() : rig.postgreSQL()
        let (used, other) = isToPostgreSQL ? (rig.postgreSQL(), rig.postgreSQL()) : (rig.sqlite(), rig.sqlite())
        _ = try rig.make(first).submit()
        let id = try rig.make(used).submit()
        _ = try rig.make(other, shardCount: 8)
        let error = try StoreCopyRig.error { _ = try StoreCopy.run(from: first, to: used) }
        #expect(error.code == .invalid && error.message.contains("not empty"))
        #expect(try rig.open(used).counted()[.new] == 1 && rig.open(used).status(id) == .new)
        let shards = try StoreCopyRig.error { _ = try StoreCopy.run(from: first, to: other) }
        #expect(shards.code == .invalid && shards.message.contains("4 shards"), "\(shards)")
        #expect(try rig.open(other).store.shardCount == 8)
        let same = try StoreCopyRig.error { _ = try StoreCopy.run(from: first, to: first) }
        #expect(same.code == .invalid && same.message.contains("itself"))
    }

    @Test func `an empty store with the same number of shards is a target`() throws {
        let (first, middle, last) = (rig.sqlite(), rig.postgreSQL(), rig.sqlite())
        let id = try rig.make(first).submit()
        _ = try (rig.make(middle), rig.make(last))
        _ = try StoreCopy.run(from: first, to: middle)
        _ = try StoreCopy.run(from: middle, to: last)
        #expect(try rig.open(last).status(id) == .new)
    }

    @Test func `a restored store is copied once a door has compared its spool`() throws {
        let (first, last) = (rig.postgreSQL(), rig.sqlite())
        let id = try rig.make(first).submit()
        let store = try #require(rig.open(first).store as? PostgreSQLStore)
        _ = try store.settleRestored()
        let error = try StoreCopyRig.error { _ = try StoreCopy.run(from: first, to: last) }
        #expect(error.code == .busy && error.message.contains("spool"), "\(error)")
        for shard in 0..<store.shardCount { try store.noteSpoolCompared(shard: shard) }
        _ = try StoreCopy.run(from: first, to: last)
        #expect(try rig.open(last).status(id) == .new)
    }

    @Test(arguments: [true, false])
    func `open uploads are refused by name, unless they are left out`(_ isSQLite: Bool) throws {
        let first = isSQLite ? rig.sqlite() : rig.postgreSQL()
        let last = isSQLite ? rig.postgreSQL() : rig.sqlite()
        let ids = try openUploads(first)
        let error = try StoreCopyRig.error { _ = try StoreCopy.run(from: first, to: last) }
        #expect(error.code == .busy && error.message.contains("4 uploads"))
        #expect(ids.filter { error.message.contains($0.description) } == Array(ids.prefix(3)), "\(error)")
        let report = try StoreCopy.run(from: first, to: last, withoutUploads: true)
        #expect(report.uploadsLeft == 4 && report.rows[.uploads] == nil)
        #expect(try rig.open(last).store.upload(ids[0]) == nil)
    }

    private func openUploads(_ place: StoreCopy.Place) throws -> [CommandID] {
        let subject = try rig.make(place)
        return try (UInt8(0)..<4).map { byte in
            let id = CommandID(now: .base, shardByte: byte)
            let upload = Upload(id: id, length: 10, facts: UploadFacts(origin: .tus), createdAt: .base)
            _ = try subject.store.apply([.create(upload)], shard: id.shard(of: 4), now: .base)[0].get()
            return id
        }.sorted()
    }

    @Test func `a newer store, a backup and a directory without a store are refused`() throws {
        let (newer, server, target) = (rig.sqlite(), rig.postgreSQL(), rig.sqlite())
        for place in [newer, server] { _ = try rig.make(place) }
        try rig.run("PRAGMA user_version = 99", in: newer)
        try rig.run("UPDATE meta SET value = '99' WHERE key = 'min_reader'", in: server)
        for place in [newer, server] {
            let error = try StoreCopyRig.error { _ = try StoreCopy.run(from: place, to: target) }
            #expect(error.code == .foreign && error.message.contains("99"), "\(error)")
        }
        let backup = rig.sqlite()
        _ = try rig.make(backup)
        try rig.run("INSERT INTO meta VALUES ('backup', '1')", in: backup)
        #expect(try StoreCopyRig.error { _ = try StoreCopy.run(from: backup, to: target) }.code == .backup)
        let missing = try StoreCopyRig.error { _ = try StoreCopy.run(from: rig.sqlite(), to: target) }
        #expect(missing.code == .missing)
        // No target was made.
        #expect(try StoreCopyRig.error { _ = try rig.open(target) }.code == .missing)
    }

    @Test func `a store that a process has open is busy`() throws {
        let (first, last) = (rig.sqlite(), rig.postgreSQL())
        let subject = try rig.make(first)
        try subject.submit()
        let error = try StoreCopyRig.error { _ = try StoreCopy.run(from: first, to: last) }
        #expect(error.code == .busy)
        withExtendedLifetime(subject) {}
    }

    // MARK: Texts

    @Test func `a NUL in a reason is replaced, and one in a key is refused by the command`() throws {
        let (first, last) = (rig.sqlite(), rig.postgreSQL())
        let (cancelled, keyed) = try makeNUL(first)
        let error = try StoreCopyRig.error { _ = try StoreCopy.run(from: first, to: last) }
        #expect(error.code == .invalid && error.id == keyed && error.message.contains("\(keyed)"), "\(error)")
        try rig.run("UPDATE command SET unique_key = NULL", in: first)
        _ = try StoreCopy.run(from: first, to: last)
        let subject = try rig.open(last)
        #expect(try subject.store.command(cancelled)?.reason == "not?wanted")
        #expect(try subject.store.timeline(cancelled).last?.reason == "not?wanted")
    }

    private func makeNUL(_ place: StoreCopy.Place) throws -> (CommandID, CommandID) {
        let subject = try rig.make(place)
        let cancelled = try subject.submit()
        _ = try subject.store.cancel(cancelled, reason: "not\u{0}wanted", now: .base)
        return (cancelled, try subject.submit(.noop.with { $0.uniqueKey = "a\u{0}b" }))
    }
}
