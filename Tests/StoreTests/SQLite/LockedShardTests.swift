import Commands
import Foundation
import Host
import TestSupport
import Testing

@testable import Store

/// A shard whose write lock another process holds: for a moment, or because it was stopped within a commit.
@Suite struct LockedShardTests {
    @Test func `a single submit goes to a shard in which no other process commits`() throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store(shards: 4)
        let probes = try (0..<3).map { try SQLiteProbe(fixture.data.shard($0)) }
        for probe in probes { try probe.run("BEGIN IMMEDIATE") }
        for _ in 0..<20 {
            let id = try store.submit([.noop], allowUnknownTypes: false)[0].get().id
            #expect(id.shard(of: 4) == 3)
        }
        for probe in probes { try probe.run("COMMIT") }
    }

    @Test func `a write that waits for the lock gets it when it is released`() async throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store(shards: 1)
        let probe = try SQLiteProbe(fixture.data.shard(0))
        try probe.run("BEGIN IMMEDIATE")
        async let submitted = Self.onThread("waits-for-lock") { () throws(StoreError) in
            try store.submit([.noop], allowUnknownTypes: false)[0].get()
        }
        try await until("its waiting") { Self.isWaiting("waits-for-lock") }
        try probe.run("COMMIT")
        let id = try await submitted.id
        #expect(try store.command(id) != nil)
    }

    @Test func `a read does not wait for a write that waits for the lock`() async throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store(shards: 1)
        let ids = try store.submitNoops(3)
        let probe = try SQLiteProbe(fixture.data.shard(0))
        try probe.run("BEGIN IMMEDIATE")
        let error = #expect(throws: StoreError.self) {
            try store.apply([.claim(ids[0], sent: true)], shard: 0, seat: 1, epoch: 1, timeout: .zero)
        }
        #expect(error?.code == .busy && error?.shard == 0)
        // The error of a timeout names the process that holds the lock.
        let late = #expect(throws: StoreError.self) { _ = try store.checkpoint(shard: 0) }
        #expect(late?.message.contains("locked by process \(getpid()) (") == true, "\(late?.message ?? "")")
        async let set: Void = Self.onThread("sets") { () throws(StoreError) in try store.set("key", to: "value") }
        try await until("its waiting") { Self.isWaiting("sets") }
        for id in ids { #expect(try store.command(id)?.status == .new) }
        #expect(try store.readyKeys(shard: 0).count == 1 && store.settings(prefix: "").isEmpty)
        try probe.run("COMMIT")
        try await set
        #expect(try store.settings(prefix: "") == ["key": "value"])
    }

    @Test func `a batch goes to the unlocked shards, but drafts with unique keys wait`() async throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store(shards: 4)
        let probe = try SQLiteProbe(fixture.data.shard(1))
        try probe.run("BEGIN IMMEDIATE")
        let start = ContinuousClock.now
        for _ in 0..<20 {
            let ids = try store.submitNoops(40)
            #expect(ids.count == 40 && ids.allSatisfy { $0.shard(of: 4) != 1 })
        }
        // No batch waits for long: the drafts of the locked shard move.
        let elapsed = ContinuousClock.now - start
        #expect(elapsed < .seconds(8), "\(elapsed)")

        var random = SeededRandom(seed: 1)
        let key = try #require(
            (0..<100).map { "key-\($0)" }.first {
                CommandID(now: .now, shardByte: UniqueKey.shardByte(of: $0), using: &random).shard(of: 4) == 1
            })
        var bound = CommandDraft.noop
        bound.uniqueKey = key
        let drafts = [CommandDraft](repeating: .noop, count: 40) + [bound]
        async let submitted = Self.onThread("batch") {
            store.submit(drafts, allowUnknownTypes: false)
        }
        try await until("the others") { try store.counts()[.new] == 840 }
        try probe.run("COMMIT")
        let ids = try await submitted.map { try $0.get().id }
        #expect(ids.count == 41 && ids[40].shard(of: 4) == 1)
    }

    @Test func `a draft with an ordering key sleeps until its locked shard is free`() async throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store(shards: 4)
        let draft = CommandDraft.noop.with { $0.orderingKey = "customer-7" }
        let shard = try #require(store.router.shard(of: draft))
        let probe = try SQLiteProbe(fixture.data.shard(shard))
        try probe.run("BEGIN IMMEDIATE")
        async let submitted = Self.onThread("keyed") { store.submit([draft], allowUnknownTypes: false) }
        try await until("its waiting") { Self.isWaiting("keyed") }
        try probe.run("COMMIT")
        let id = try await submitted[0].get().id
        #expect(id.shard(of: 4) == shard)
    }

    @Test func `a locked shard does not keep a reap from the other shards`() throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store(shards: 4)
        let ids = try store.submitNoops(40)
        try store.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 2, bootID: "b"))
        for id in ids {
            _ = try store.apply([.claim(id, sent: true)], shard: id.shard(of: 4), seat: 1, epoch: 1)
        }
        let probe = try SQLiteProbe(fixture.data.shard(0))
        try probe.run("BEGIN IMMEDIATE")
        func reap() throws(StoreError) {
            try store.reap(seat: 1, epoch: 1, DeathVerdict(charges: false, reason: "dead")) { _ in }
        }
        let error = #expect(throws: StoreError.self) { try reap() }
        #expect(error?.code == .busy)
        for id in ids { #expect(try store.command(id)?.status == (id.shard(of: 4) == 0 ? .sent : .new)) }
        #expect(try store.sessions().count == 1)
        try probe.run("COMMIT")
        try reap()
        #expect(try store.counts()[.new] == 40 && store.sessions().isEmpty)
    }

    @Test func `an empty batch of writes tests whether a shard can be written to`() throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store(shards: 1)
        #expect(try store.apply([], shard: 0, seat: 1, epoch: 1, timeout: .zero).isEmpty)
        let probe = try SQLiteProbe(fixture.data.shard(0))
        try probe.run("BEGIN IMMEDIATE")
        #expect(throws: StoreError.self) {
            try store.apply([], shard: 0, seat: 1, epoch: 1, timeout: .zero)
        }
        try probe.run("COMMIT")
    }

    /// Steps that one thread of a coordinator, or of a worker that starts or ends, does shard after shard.
    enum Upkeep: String, CaseIterable {
        case prune, dueTimes, deadlines, sessionBegins, sessionEnds, backoffs, newTypes, settings
    }

    @Test(.enabled(if: runsSlowTests, "takes 8 s"), arguments: Upkeep.allCases)
    func `upkeep waits for a locked shard for at most a second`(_ upkeep: Upkeep) throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store(shards: 1)
        let begin = Timestamp.now
        let late = Timestamp(milliseconds: begin.milliseconds + 60_000)
        let draft = CommandDraft.noop.with {
            $0.notBefore = Timestamp(milliseconds: begin.milliseconds + 10_000)
            $0.deadline = Timestamp(milliseconds: begin.milliseconds + 20_000)
        }
        let ids = try store.submit([draft, draft], allowUnknownTypes: false, now: begin).map { try $0.get().id }
        _ = try store.cancel(ids[0], reason: "not wanted", now: begin)
        try store.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 2, bootID: "b"))

        func act() throws(StoreError) -> Int {
            switch upkeep {
            case .prune: return try store.prune(shard: 0, before: late, statuses: [.cancelled], limit: 10).count
            case .dueTimes: return try store.promoteDue(shard: 0, now: late, limit: 10).ready.count
            case .deadlines: return try store.expire(shard: 0, now: late, limit: 10).effects.events.count
            case .sessionBegins:
                try store.open(Session(seat: 2, epoch: 1, pid: 1, startTime: 2, bootID: "b"), shard: 0)
                return try store.sessions().count - 1
            case .sessionEnds:
                try store.close(seat: 1, epoch: 1)
                return try 1 - store.sessions().count
            case .backoffs:
                try store.shiftBackoffs(shard: 0, by: .seconds(60), writtenBefore: nil)
                return 1
            case .newTypes:
                try store.record(types: ["thumbnail"])
                return try store.types().contains("thumbnail") ? 1 : 0
            case .settings:
                try store.set([("key", "value")], timeout: .seconds(1))
                return try store.settings(prefix: "key").count
            }
        }
        let probe = try SQLiteProbe(fixture.data.shard(0))
        try probe.run("BEGIN IMMEDIATE")
        let start = ContinuousClock.now
        let done: Int? = try? act()
        // A worker that ends leaves its session to the reaper.
        #expect(done == (upkeep == .sessionEnds ? 0 : nil))
        let elapsed = ContinuousClock.now - start
        #expect(elapsed > .seconds(0.9) && elapsed < .seconds(8), "\(elapsed)")
        try probe.run("COMMIT")
        #expect(try act() == 1)
    }

    /// Whether a thread of this process waits for a lock: it sleeps again and again.
    private static func onThread<Value: Sendable, Failure: Error>(
        _ name: String, _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let thread = SerialThread(named: name)
        defer { thread.close(then: {}) }
        return try await thread.run(body)
    }

    private static func isWaiting(_ name: String) -> Bool { naps(ofThread: name) >= 3 }

    /// The voluntary context switches of a thread of this process; 0 where there is none with that name.
    private static func naps(ofThread name: String) -> Int {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        for thread in threads {
            let lines = String(decoding: contents(of: "/proc/self/task/\(thread)/status") ?? [], as: UTF8.self)
                .split(separator: "\n")
            guard lines.first?.hasSuffix("\t\(name)") == true else { continue }
            return lines.first { $0.hasPrefix("voluntary_ctxt_switches") }?.split(separator: "\t").last
                .flatMap { Int($0) } ?? 0
        }
        return 0
    }
}
