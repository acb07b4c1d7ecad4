import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing

@testable import Work

@Suite struct OpenSessionsTests {
    @Test func `a shard that is repaired while its worker runs is used again`() throws {
        let directory = try TemporaryDirectory("sessions")
        defer { directory.remove() }
        let data = DataDirectory(path: "\(directory.path)/data")
        let id = try {
            let store = try SQLiteStore(directory: data, shardCount: 1)
            let draft = CommandDraft(type: "noop", payload: Array("{}".utf8), destination: .none, idempotent: true)
            let id = try store.submit([draft], allowUnknownTypes: false)[0].get().id
            _ = try store.checkpoint(shard: 0)
            return id
        }()
        let file = URL(fileURLWithPath: data.shard(0))
        let whole = try Data(contentsOf: file)
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.path + suffix) }
        try Data().write(to: file)

        let store = try SQLiteStore(directory: data, create: false)
        let session = Session(seat: 1, epoch: 1, pid: 1, startTime: 1, bootID: "")
        let sessions = try ShardSessions(session, in: store)
        let group = store.commitGroup(of: 0)
        let error = #expect(throws: StoreError.self) { try sessions.open(group) }
        #expect(error?.code == .corrupt)
        try whole.write(to: file)
        try sessions.open(group)
        let outcome = try store.apply([.claim(id, sent: true)], shard: 0, seat: 1, epoch: 1)
        guard case .claimed = outcome[0] else {
            Issue.record("refused: \(outcome[0])")
            return
        }
    }

    @Test func `a shard without a session does not hold up the other shards of its commit group`() throws {
        let memory = MemoryStore(shardCount: 2)
        let store = GroupedStore(memory, shardsPerGroup: 2)
        let group = store.commitGroup(of: 0)
        var ids: [CommandID] = []
        while Set(ids.map { $0.shard(of: 2) }).count < 2 {
            let draft = CommandDraft(type: "noop", payload: Array("{}".utf8), destination: .none, idempotent: true)
            ids.append(try memory.submit([draft], allowUnknownTypes: false)[0].get().id)
        }
        func claim(in shard: Int) throws -> [ExecutionOutcome] {
            let writes = ids.filter { $0.shard(of: 2) == shard }.prefix(1).map { ExecutionWrite.claim($0, sent: true) }
            return Array(try memory.apply(writes, shard: shard, seat: 1, epoch: 1))
        }
        store.fail(1, with: StoreError(.corrupt, "malformed"))
        let sessions = try ShardSessions(Session(seat: 1, epoch: 1, pid: 1, startTime: 1, bootID: ""), in: store)
        try sessions.open(group)
        #expect(try claim(in: 0) != [.refused])
        #expect(try claim(in: 1) == [.refused])
        store.fail(1, with: nil)
        try sessions.open(group)
        #expect(try claim(in: 1) != [.refused])
    }
}
