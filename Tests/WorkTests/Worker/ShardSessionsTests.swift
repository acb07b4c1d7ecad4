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
        let error = #expect(throws: StoreError.self) { try sessions.open(0) }
        #expect(error?.code == .corrupt)
        try whole.write(to: file)
        try sessions.open(0)
        let outcome = try store.apply([.claim(id, sent: true)], shard: 0, seat: 1, epoch: 1)
        guard case .claimed = outcome[0] else {
            Issue.record("refused: \(outcome[0])")
            return
        }
    }
}
