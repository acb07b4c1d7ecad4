import Commands
import Foundation
import Host
import Logging
import Store
import Synchronization
import TestSupport
import Testing

@testable import Coordination

@Suite struct StoreMaintainerTests {
    /// A store with a maintainer whose rounds a test starts.
    private final class Rig {
        let place: TemporaryDirectory
        let store: SQLiteStore
        let maintainer: StoreMaintainer
        /// Held as by a coordinator, so that no writer checkpoints.
        private let lock: FileLock?

        let log = Recorder()

        init(
            shards: Int, retention: Duration = .seconds(86_400),
            abandoned: @escaping @Sendable ([UInt8]) -> Void = { _ in }
        ) throws {
            place = try TemporaryDirectory("maintainer")
            let directory = DataDirectory(path: "\(place.path)/data")
            store = try SQLiteStore(directory: directory, create: true, shardCount: shards)
            lock = try directory.run.take(.checkpoint)
            let log = log
            maintainer = StoreMaintainer(
                store: store, files: store, in: directory.run, retention: retention, abandoned: abandoned,
                logger: Logger(label: "maintainer") { _ in RecordingHandler(recorder: log) })
        }

        func shard(_ number: Int) -> String { DataDirectory(path: "\(place.path)/data").shard(number) }

        deinit {
            maintainer.close()
            place.remove()
        }

        func submit(_ count: Int, payload: [UInt8] = Array("{}".utf8)) throws -> [CommandID] {
            let draft = CommandDraft(type: "noop", payload: payload, destination: .none, idempotent: true)
            let drafts = Array(repeating: draft, count: count)
            return try store.submit(drafts, allowUnknownTypes: true).map { try $0.get().id }
        }
    }

    /// Records the log.
    private final class Recorder: Sendable {
        private let lines = Mutex<[String]>([])
        var messages: [String] { lines.withLock { $0 } }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    private struct RecordingHandler: LogHandler {
        let recorder: Recorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { recorder.add("\(event.message)") }
    }

    @Test(.enabled(if: runsSlowTests, "slow"))
    func `a locked shard is logged once, and again when it is locked again`() async throws {
        let rig = try Rig(shards: 2)
        _ = try rig.submit(20)
        let probe = try SQLiteProbe(rig.shard(1))
        let (maintainer, store, log) = (rig.maintainer, rig.store, rig.log)
        try probe.run("BEGIN IMMEDIATE")
        try await until("the log line") {
            maintainer.round()
            return !log.messages.isEmpty
        }
        // Two rounds in which each shard has its turn, as the checkpoints of the other shard show.
        for turn in 0..<2 {
            _ = try rig.submit(20)
            try await until("turn \(turn)") {
                maintainer.round()
                return store.walSize(shard: 0) == 0
            }
        }
        #expect(log.messages.count == 1 && log.messages.allSatisfy { $0.contains("is locked by") }, "\(log.messages)")
        try probe.run("COMMIT")
        try await until("its checkpoint") {
            maintainer.round()
            return store.walSize(shard: 1) == 0
        }
        _ = try rig.submit(20)
        try probe.run("BEGIN IMMEDIATE")
        try await until("another log line") {
            maintainer.round()
            return log.messages.count == 2
        }
        try probe.run("COMMIT")
    }

    @Test func `every shard is checkpointed in its turn`() async throws {
        let rig = try Rig(shards: 4)
        _ = try rig.submit(200)
        let store = rig.store
        let maintainer = rig.maintainer
        #expect((0..<4).allSatisfy { store.walSize(shard: $0) > 0 })
        try await until("every shard's turn") {
            maintainer.round()
            return (0..<4).allSatisfy { store.walSize(shard: $0) == 0 }
        }
        #expect(try store.counts()[.new] == 200)
    }

    @Test func `a WAL of more than 32 MB does not wait for its turn`() async throws {
        let rig = try Rig(shards: 1)
        let large = Array("\"\(String(repeating: "x", count: 900_000))\"".utf8)
        for _ in 0..<45 { _ = try rig.submit(1, payload: large) }
        let store = rig.store
        #expect(store.walSize(shard: 0) > StoreMaintainer.walLimit)
        // The first round is not the turn of this shard.
        rig.maintainer.round()
        try await until("the checkpoint") { store.walSize(shard: 0) == 0 }
    }

    @Test func `finished commands are kept for a week`() {
        #expect(CoordinatorConfiguration().retention == .seconds(7 * 24 * 60 * 60))
    }

    @Test func `old finished commands are pruned, and payloads that never succeeded are handed over`() async throws {
        let abandoned = Mutex(0)
        let rig = try Rig(shards: 2, retention: .zero) { _ in abandoned.withLock { $0 += 1 } }
        let ids = try rig.submit(20)
        for id in ids.prefix(15) { _ = try rig.store.cancel(id, reason: "not wanted") }
        let store = rig.store
        let maintainer = rig.maintainer
        try await until("the pruning") {
            maintainer.round()
            return try store.counts()[.cancelled] == 0
        }
        #expect(try store.counts()[.new] == 5)
        // Payloads are handed over after the commit that deletes their commands.
        try await until("the payloads") { abandoned.withLock { $0 } == 15 }
    }

    @Test func `locks that killed guardians left are removed, and held ones are not`() async throws {
        let rig = try Rig(shards: 1)
        let run = DataDirectory(path: "\(rig.place.path)/data").run
        let (left, running) = (run.execLock(CommandID()), run.execLock(CommandID()))
        try #require(try FileLock.attempt(left) != nil)
        let held = try #require(try FileLock.attempt(running))
        let foreign = "\(run.path)/exec-notes.lock"
        #expect(FileManager.default.createFile(atPath: foreign, contents: nil))
        try await until("the removal of the free lock") {
            rig.maintainer.round()
            return !FileManager.default.fileExists(atPath: left)
        }
        #expect(held.isNamed(running) && FileManager.default.fileExists(atPath: foreign))
        #expect(rig.log.messages.contains { $0.contains("Removed locks") }, "\(rig.log.messages)")
    }
}
