import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing

@Suite struct MigrationTests {
    private static func version(_ data: DataDirectory, _ shard: Int) throws -> String {
        try SQLiteProbe(data.shard(shard)).texts(
            "SELECT ifnull((SELECT value FROM meta WHERE key = 'version'), (SELECT * FROM pragma_user_version))")[0]
    }

    private static let keyed = CommandDraft.noop.with { $0.uniqueKey = "report" }

    private func submit(_ draft: CommandDraft, to store: SQLiteStore) throws -> Submission {
        try store.submit([draft], allowUnknownTypes: false, now: .base)[0].get()
    }

    @Test func `a store of release 0.1.0 is used as it is, and keeps its version`() throws {
        let fixture = try TemporaryStore()
        let store = try fixture.firstRelease()
        _ = try store.submitNoops(100)
        let first = try submit(Self.keyed, to: store)
        #expect(try submit(Self.keyed, to: store) == Submission(id: first.id, isExisting: true))
        #expect(try store.command(first.id)?.uniqueFor == .kept)
        #expect(try store.counts()[.new] == 101)
        for shard in 0..<4 { #expect(try Self.version(fixture.data, shard) == "2") }
    }

    @Test func `a period of a unique key is refused while the tables cannot keep it`() throws {
        let fixture = try TemporaryStore()
        let store = try fixture.firstRelease()
        let draft = Self.keyed.with { $0.uniqueFor = .running }
        let error = #expect(throws: StoreError.self) { try submit(draft, to: store) }
        #expect(error?.code == .overloaded && error?.message.contains("needs version 3") == true)
        for shard in 0..<4 { #expect(try store.migrate(shard: shard, epochs: []) == .migrated(from: 2)) }
        #expect(try submit(draft, to: store).isExisting == false)
    }

    @Test func `a migration keeps every command, and finds equal submits`() throws {
        let fixture = try TemporaryStore()
        let store = try fixture.firstRelease()
        let ids = try store.submitNoops(100)
        let first = try submit(Self.keyed, to: store).id
        // Release 0.1.0 wrote a fingerprint of another form.
        try SQLiteProbe(fixture.data.shard(first.shard(of: 4))).run("UPDATE command SET fingerprint = zeroblob(32)")
        let before = try ids.map { try store.command($0) }
        for shard in 0..<4 { #expect(try store.migrate(shard: shard, epochs: []) == .migrated(from: 2)) }
        for shard in 0..<4 {
            #expect(try store.migrate(shard: shard, epochs: []) == .notNeeded)
            #expect(try Self.version(fixture.data, shard) == "3")
            #expect(try store.integrityCheck(shard: shard).isEmpty)
        }
        #expect(try ids.map { try store.command($0) } == before)
        #expect(try submit(Self.keyed, to: store).id == first)
        let other = Self.keyed.with { $0.payload = Array(#"{"milliseconds": 1}"#.utf8) }
        #expect(throws: StoreError.self) { try submit(other, to: store) }
    }

    @Test func `a process that has the store open goes on when another migrates it`() throws {
        let fixture = try TemporaryStore()
        let store = try fixture.firstRelease()
        let ids = try store.submitNoops(40)
        let other = try fixture.store()
        for shard in 0..<4 { _ = try other.migrate(shard: shard, epochs: []) }
        // The first write of each shard finds out.
        #expect(try submit(Self.keyed.with { $0.uniqueFor = .running }, to: store).isExisting == false)
        _ = try store.submitNoops(40)
        #expect(try store.counts()[.new] == 81 && other.counts()[.new] == 81)
        #expect(try store.command(ids[0]) == other.command(ids[0]))
    }

    @Test func `the session of a worker of another release prevents the migration`() throws {
        let fixture = try TemporaryStore()
        let store = try fixture.firstRelease(shards: 1)
        let old = Session(seat: 1, epoch: 11, pid: 5, startTime: 1, bootID: "boot")
        let new = Session(seat: 2, epoch: 22, pid: 6, startTime: 1, bootID: "boot")
        try store.open(old, shard: 0)
        try store.open(new, shard: 0)
        #expect(try store.migrate(shard: 0, epochs: [22]) == .prevented(version: 2, by: [old]))
        #expect(try Self.version(fixture.data, 0) == "2")
        try store.close(seat: 1, epoch: 11)
        #expect(try store.migrate(shard: 0, epochs: [22]) == .migrated(from: 2))
        #expect(try store.sessions() == [new])
    }

    @Test func `a migration records the remains of commands that have ended`() throws {
        let fixture = try TemporaryStore()
        let store = try fixture.firstRelease()
        let ids = try store.submitNoops(60)
        for (index, id) in ids.enumerated() {
            // Cancelled, given up, waiting; every other one with a checkpoint.
            let (status, kept) = ([5, 10, 0][index % 3], index % 2 == 0 ? "x'01'" : "NULL")
            let hex = id.description.replacing("-", with: "").uppercased()
            try SQLiteProbe(fixture.data.shard(id.shard(of: 4))).run(
                """
                UPDATE payload SET kept = \(kept) WHERE turn = (SELECT turn FROM command WHERE hex(id) = '\(hex)');
                UPDATE command SET status = \(status), updated_at = 1000 WHERE hex(id) = '\(hex)'
                """)
        }
        let migrated = Timestamp.now
        for shard in 0..<4 { _ = try store.migrate(shard: shard, epochs: []) }
        func cleanUp(_ milliseconds: Int64) throws -> Set<CommandID> {
            var found: Set<CommandID> = []
            for shard in 0..<4 {
                _ = try store.cleanUp(shard: shard, now: Timestamp(milliseconds: milliseconds), limit: 100) {
                    found.insert($0.command.id)
                    return nil
                }
            }
            return found
        }
        func expected(_ status: Int) -> Set<CommandID> {
            Set(ids.indices.filter { $0 % 3 == status && $0 % 2 == 0 }.map { ids[$0] })
        }
        #expect(try cleanUp(1000) == expected(0))
        // A dead letter has a day from the migration on.
        #expect(try cleanUp(migrated.milliseconds + 86_000_000).isEmpty)
        #expect(try cleanUp(migrated.milliseconds + 86_800_000) == expected(1))
    }

    @Test func `a shard that needs a newer program is refused, and one that only has more tables is used`() throws {
        let fixture = try TemporaryStore()
        _ = try fixture.store().submitNoops(20)
        try SQLiteProbe(fixture.data.shard(0)).run("UPDATE meta SET value = 9 WHERE key = 'version'")
        let store = try fixture.store()
        #expect(try store.counts()[.new] == 20)
        #expect(try store.migrate(shard: 0, epochs: []) == .notNeeded)
        try SQLiteProbe(fixture.data.shard(0)).run("PRAGMA user_version = 8")
        let later = try fixture.store()
        try later.openAll()
        #expect(later.problems.map(\.code) == [.foreign])
        let message = try #require(later.problems.first?.message)
        #expect(message.contains("has version 9, which needs a program that knows version 8, and this one knows 3"))
        // A process that has it open finds out with its next write.
        #expect(throws: Never.self) { try store.set("a", to: "b") }
        try SQLiteProbe(fixture.data.shard(0)).run(
            "CREATE TABLE later(a); UPDATE meta SET value = 10 WHERE key = 'version'")
        #expect(throws: StoreError.self) { try store.set("a", to: "c") }
        #expect(store.problems.map(\.code) == [.foreign])
    }

    @Test(.enabled(if: runsSlowTests, "slow"))
    func `a migration that is cut off at 100 random points is whole each time`() throws {
        var random = SeededRandom.announced("migration")
        let fixture = try TemporaryStore()
        let ids = try fixture.firstRelease(shards: 1).submitNoops(2000)
        let before = try RecordedDisk(fixture.data)
        let vfs = RecordingVFS("migration")
        let store = try SQLiteStore(
            directory: fixture.data, create: false, shardCount: 1, clock: SettableClock(), vfs: vfs.name)
        #expect(try store.migrate(shard: 0, epochs: []) == .migrated(from: 2))
        _ = try store.checkpoint(shard: 0)
        let records = vfs.records
        var versions: [String: Int] = [:]
        for round in 0..<100 {
            let cut = random.number(in: 0..<records.count + 1)
            var disk = before
            disk.replay(records[..<cut], in: &random)
            let after = try disk.write(to: "\(fixture.directory.path)/after-\(round)")
            versions[try Self.version(after, 0), default: 0] += 1
            let store = try SQLiteStore(directory: after, create: false, clock: SettableClock())
            #expect(try store.integrityCheck(shard: 0).isEmpty, "cut at \(cut) of \(records.count)")
            #expect(try store.counts()[.new] == ids.count)
            #expect([.notNeeded, .migrated(from: 2)].contains(try store.migrate(shard: 0, epochs: [])))
            #expect(try store.command(ids[round])?.status == .new)
            try FileManager.default.removeItem(atPath: after.path)
        }
        #expect(Set(versions.keys) == ["2", "3"], "\(versions)")
    }
}
