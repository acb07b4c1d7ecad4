import Commands
import GRDBSQLite
import Host
import Store
import TestSupport
import Testing

/// Errors of the disk and of SQLite that a virtual file system injects.
@Suite struct DiskErrorTests {
    /// An error, and the code with which the store reports it.
    struct Case: Sendable, CustomTestStringConvertible {
        var operation: RecordingVFS.Operation
        var code: CInt
        var reported: StoreError.Code
        var testDescription: String { "\(operation) \(code)" }
    }

    /// Extended codes are macros that Swift does not import: SQLITE_IOERR_READ, WRITE, FSYNC.
    static let cases = [
        Case(operation: .write, code: SQLITE_FULL, reported: .full),
        Case(operation: .write, code: SQLITE_IOERR | 3 << 8, reported: .full),
        Case(operation: .sync, code: SQLITE_IOERR | 4 << 8, reported: .full),
        Case(operation: .write, code: SQLITE_READONLY, reported: .permission),
        Case(operation: .write, code: SQLITE_PERM, reported: .permission),
        Case(operation: .write, code: SQLITE_IOERR | 99 << 8, reported: .failed),
        Case(operation: .read, code: SQLITE_IOERR | 1 << 8, reported: .corrupt),
    ]

    private struct Rig {
        let directory: TemporaryDirectory
        let data: DataDirectory
        let vfs: RecordingVFS
        let shards: Int

        init(shards: Int, _ name: String) throws {
            directory = try TemporaryDirectory("disk-error")
            data = DataDirectory(path: "\(directory.path)/data")
            try data.create(shardCount: shards)
            self.shards = shards
            vfs = RecordingVFS(name)
        }

        func store() throws -> SQLiteStore {
            try SQLiteStore(directory: data, create: false, shardCount: shards, vfs: vfs.name)
        }
    }

    private static let session = Session(seat: 1, epoch: 1, pid: 1, startTime: 1, bootID: "boot")

    @Test(arguments: cases) func `nothing is acknowledged or half written, and the same writes succeed afterwards`(
        _ error: Case
    ) throws {
        let rig = try Rig(shards: 1, "writes-\(error)")
        defer { rig.directory.remove() }
        var store = try rig.store()
        try store.open(Self.session)
        let id = try store.submitNoops()[0]
        _ = try store.apply([.claim(id, sent: true)], shard: 0, seat: 1, epoch: 1)
        // A read fails where its page is not in the cache of an older connection.
        if error.operation == .read { store = try rig.store() }
        rig.vfs.setFailure(.init(operation: error.operation, code: error.code))
        let results = store.submit([CommandDraft](repeating: .noop, count: 100), allowUnknownTypes: false)
        for result in results {
            let failure = #expect(throws: StoreError.self) { try result.get() }
            #expect(failure?.code == error.reported && failure?.shard == 0)
            #expect(failure?.message.contains(rig.data.shard(0)) == true)
        }
        let end = ExecutionWrite.end(id, claim: 1, .success(result: nil))
        #expect(throws: StoreError.self) { try store.apply([end], shard: 0, seat: 1, epoch: 1) }
        rig.vfs.setFailure(nil)
        #expect(try store.command(id)?.status == .sent)
        guard case .done = try store.apply([end], shard: 0, seat: 1, epoch: 1)[0] else {
            Issue.record("not done")
            return
        }
        #expect(try store.counts()[.success] == 1)
        #expect(try store.counts()[.new] == 0)
        #expect(try store.timeline(id).map(\.status) == [.new, .queued, .sent, .success])
        #expect(try store.integrityCheck(shard: 0).isEmpty)
        #expect(store.problems.isEmpty)
    }

    @Test func `a producer avoids a shard that cannot be read, and uses it again when it can`() throws {
        let rig = try Rig(shards: 2, "unreadable")
        defer { rig.directory.remove() }
        let store = try rig.store()
        rig.vfs.setFailure(.init(operation: .read, code: SQLITE_IOERR | 1 << 8, path: rig.data.shard(0)))
        let ids = try store.submitNoops(100)
        #expect(ids.allSatisfy { $0.shard(of: 2) == 1 })
        #expect(store.problems.map(\.shard) == [0])
        rig.vfs.setFailure(nil)
        // Any write of the shard shows that it is whole again.
        for number in 0..<20 {
            var draft = CommandDraft.noop
            draft.uniqueKey = "key-\(number)"
            _ = try store.submit([draft], allowUnknownTypes: false)[0].get()
        }
        #expect(store.problems.isEmpty)
        #expect(try store.submitNoops(100).contains { $0.shard(of: 2) == 0 })
    }
}
