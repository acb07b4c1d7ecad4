import Commands
import NetworkControl
import Store
import Testing
import Wire

@testable import Coordination

@Suite struct DispatcherTests: DispatcherFixtures {
    @Test func `offers by class first, then by age`() {
        var dispatcher = dispatcher()
        dispatcher.insert([
            ready(1, .background), ready(2, .default), ready(3, .userInitiated), ready(4, .userInteractive),
        ])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [4, 3, 2, 1])
    }

    @Test func `who has become of another quality goes by that`() {
        var dispatcher = dispatcher(concurrency: 1)
        let commands = (1...3000).map { ready($0, .background) }
        dispatcher.insert(commands)
        dispatcher.changed([commands[2999].id])
        dispatcher.insert([ready(3000, .userInteractive)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)).first == 3000)
    }

    @Test func `what comes first in its class finds a place in a full queue`() {
        var dispatcher = dispatcher(concurrency: 100)
        dispatcher.insert((1...300).map { ready($0, .userInitiated) })
        dispatcher.insert([ready(900, .userInteractive)])
        #expect(dispatcher.queue.count == 257)
        let offered = numbers(dispatcher.dispatch(at: at, now: 0))
        #expect(offered.first == 900 && offered.count == 200)
        // The first that stayed out, 257, is read again.
        #expect(dispatcher.refills().map(\.afterTurn) == [256])
    }

    @Test func `what comes back goes before later ones of the same moment`() {
        // A bulk submit has one time for thousands: what a dead worker had of them is not to wait behind the rest.
        var dispatcher = dispatcher(concurrency: 2)
        dispatcher.insert((10...265).map { ready($0, age: $0) })
        dispatcher.insert([ready(1, age: 1), ready(300, age: 300)])
        #expect(dispatcher.queue.contains(ready(1).id) && !dispatcher.queue.contains(ready(300).id))
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)).first == 1)
    }

    @Test func `a quality that has nothing in a full queue is read`() {
        var dispatcher = dispatcher(concurrency: 2)
        dispatcher.insert((1...256).map { ready($0, .userInitiated) })
        let first = ReadyKey(destination: .none, qos: .userInteractive)
        let last = ReadyKey(destination: .none, qos: .userInitiated)
        dispatcher.found([first, last], shard: 0)
        let refills = dispatcher.refills()
        #expect(refills.map(\.key) == [first])
        dispatcher.refilled(refills[0], [ready(900, .userInteractive)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)).first == 900)
    }

    @Test func `what finds no place behind better ones is not read again and again`() {
        var dispatcher = dispatcher(concurrency: 2)
        dispatcher.insert((1...256).map { ready($0, .utility) })
        dispatcher.found([ReadyKey(destination: .none, qos: .background)], shard: 0)
        let refills = dispatcher.refills()
        #expect(refills.count == 1)
        dispatcher.refilled(refills[0], (900...910).map { ready($0, .background) })
        #expect(dispatcher.refills().isEmpty)
    }

    @Test func `a minute of waiting is one step of quality within a class`() {
        var dispatcher = dispatcher()
        dispatcher.insert([
            ready(1, .userInteractive), ready(2, .userInitiated, age: 70_000), ready(3, .utility),
            ready(4, .background, age: 50_000),
        ])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [2, 1, 3, 4])
    }

    @Test func `the policy says how long a step is, and how long a class waits for its floor`() {
        var policy = NetworkPolicy()
        policy.agingStep = .seconds(10)
        policy.maxStandstill = .seconds(20)
        var aging = dispatcher(links: LinkAdmission(policy: policy))
        aging.insert([ready(1, .userInteractive), ready(2, .userInitiated, age: 12_000)])
        #expect(numbers(aging.dispatch(at: at, now: 0)) == [2, 1])
        var full = dispatcher(concurrency: 1, links: LinkAdmission(policy: policy))
        full.insert([ready(1), ready(2, .background, age: 21_000)])
        #expect(numbers(full.dispatch(at: at, now: 0)) == [1, 2])
    }

    @Test func `a seat is offered no more than its window`() {
        var dispatcher = dispatcher(concurrency: 2)
        dispatcher.insert((1...5).map { ready(Int64($0)) })
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [1, 2])
        #expect(value(dispatcher.dispatch(at: at, now: 0)).isEmpty)
        var state = WorkerState()
        state.coordinator = 9
        state.seen = 2
        state.resolved = 1
        dispatcher.report(seat: 0, state: state, coordinator: 9, now: 1)
        #expect(numbers(dispatcher.dispatch(at: at, now: 1)) == [3])
    }

    @Test func `high quality has room when the window is full`() {
        var dispatcher = dispatcher(concurrency: 2)
        dispatcher.insert((1...2).map { ready(Int64($0)) })
        _ = dispatcher.dispatch(at: at, now: 0)
        dispatcher.insert([ready(3), ready(4, .userInitiated)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [4])
    }

    @Test func `commands of one shard are shared by workers that have places free`() {
        var dispatcher = dispatcher(seats: 2, concurrency: 16)
        dispatcher.insert((1...8).map { ready(Int64($0), shard: 3) })
        let counts = dispatcher.dispatch(at: at, now: 0).map(\.offers.offers.count)
        #expect(counts.reduce(0, +) == 8 && counts.allSatisfy { $0 >= 3 }, "\(counts)")
    }

    @Test func `each worker is preferred for its shards, and none stands idle for that`() {
        var dispatcher = dispatcher(seats: 2, concurrency: 2)
        dispatcher.insert([ready(1, shard: 0), ready(2, shard: 2), ready(3, shard: 1), ready(4, shard: 3)])
        let both = dispatcher.dispatch(at: at, now: 0)
        #expect(both.map { $0.offers.offers.map(\.id.high) } == [[1, 2], [3, 4]])
        var other = self.dispatcher(seats: 2, concurrency: 2)
        other.insert((1...4).map { ready(Int64($0), shard: 0) })
        #expect(value(other.dispatch(at: at, now: 0)).map(\.offers.offers.count) == [2, 2])
    }

    @Test func `destinations take turns`() {
        var dispatcher = dispatcher(concurrency: 4)
        let other = Destination(scheme: "http", host: "b", port: 80)
        dispatcher.insert((1...4).map { ready(Int64($0), to: host) } + (5...8).map { ready(Int64($0), to: other) })
        let offered = Set(numbers(dispatcher.dispatch(at: at, now: 0)))
        #expect(offered == [1, 2, 5, 6])
    }

    @Test func `a type is offered only to those who run it`() {
        var dispatcher = dispatcher(types: ["upload"])
        dispatcher.insert([ready(1), ready(2, type: "upload")])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [2])
    }

    @Test func `holds at most 256 for each destination and class`() {
        var dispatcher = dispatcher()
        dispatcher.insert((1...400).map { ready(Int64($0)) })
        #expect(dispatcher.queue.count == 256)
        dispatcher.insert([ready(1000, to: host)])
        #expect(dispatcher.queue.count == 257)
        // What did not fit is read again from the store, from the first that was refused.
        _ = dispatcher.dispatch(at: at, now: 0)
        for number in 1...4 { dispatcher.transition(report(ready(Int64(number)), .success), now: 0) }
        #expect(value(dispatcher.refills()).isEmpty)
    }

    @Test func `refills when the queue runs low and stops at the end of the store`() throws {
        var dispatcher = dispatcher()
        let key = ReadyKey(destination: .none, qos: .default)
        dispatcher.found([key], shard: 3)
        let refill = try #require(dispatcher.refills().first)
        #expect(refill.shard == 3)
        #expect(refill.afterTurn == 0)
        #expect(value(dispatcher.refills()).isEmpty, "one read at a time")
        dispatcher.refilled(refill, (1...refill.limit).map { ready(Int64($0), shard: 3) })
        let next = try #require(dispatcher.refills().first)
        #expect(next.afterTurn == Int64(refill.limit))
        dispatcher.refilled(next, [])
        #expect(value(dispatcher.refills()).isEmpty)
    }

    /// Answers all refills from `backlog`. - Returns: after which turns it was read.
    private func read(_ backlog: [ReadyCommand], by dispatcher: inout Dispatcher, now: Int64) -> [Int64] {
        var starts: [Int64] = []
        while let refill = dispatcher.refills().first {
            starts.append(refill.afterTurn)
            let rows = backlog.filter { $0.turn > refill.afterTurn }.prefix(refill.limit)
            dispatcher.refilled(refill, Array(rows), now: now)
        }
        return starts
    }

    @Test func `a backlog that nobody can run is read once a minute, in great strides`() {
        var dispatcher = dispatcher()
        let key = ReadyKey(destination: .none, qos: .default)
        var backlog = (1...20_000).map { ready($0, type: "rare") }
        dispatcher.found([key], shard: 0, now: 0)
        #expect(read(backlog, by: &dispatcher, now: 0).count < 20)
        // What stands behind it is found by every sweep.
        backlog.append(ready(20_001))
        dispatcher.found([key], shard: 0, now: 5 * Self.second)
        #expect(read(backlog, by: &dispatcher, now: 5 * Self.second) == [20_000])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [20_001])
        // And what has come to stand among it, within a minute.
        dispatcher.found([key], shard: 0, now: 59 * Self.second)
        #expect(read(backlog, by: &dispatcher, now: 59 * Self.second).first == 20_000)
        dispatcher.found([key], shard: 0, now: 61 * Self.second)
        #expect(read(backlog, by: &dispatcher, now: 61 * Self.second).first == 0)
    }

    @Test func `of a locked shard nothing is offered, and nothing waits for it`() throws {
        var dispatcher = dispatcher(seats: 2, concurrency: 2)
        dispatcher.insert([ready(1, shard: 1), ready(2, shard: 2), ready(3, shard: 1), ready(4, shard: 2)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)).count == 4)
        var state = WorkerState()
        state.coordinator = 1
        (state.seen, state.resolved) = (2, 2)
        state.locked = [1]
        dispatcher.report(seat: 0, state: state, coordinator: 1, now: 0)
        #expect(dispatcher.followLocks(now: 0) == [] && dispatcher.locked == [1])
        // What was offered of it is nobody's any more; the rest is where it was.
        #expect(dispatcher.holder(of: ready(1, shard: 1).id) == nil)
        #expect(dispatcher.holder(of: ready(2, shard: 2).id) != nil)
        // It takes nobody's place in memory either, however it comes.
        dispatcher.insert([ready(5, shard: 1)] + (10...300).map { ready($0, shard: 2) })
        let key = ReadyKey(destination: .none, qos: .default)
        dispatcher.found([key], shard: 1)
        #expect(dispatcher.queue.count == 256 && !dispatcher.queue.contains(ready(5, shard: 1).id))
        #expect(!dispatcher.refills().contains { $0.shard == 1 })

        state.locked = []
        dispatcher.report(seat: 0, state: state, coordinator: 1, now: 1)
        #expect(dispatcher.followLocks(now: 1) == [1], "it is to be read again")
        dispatcher.insert([ready(1, shard: 1)])
        #expect(dispatcher.queue.contains(ready(1, shard: 1).id))
    }

    @Test func `a shard is free again where the worker that found it locked is gone`() {
        var dispatcher = dispatcher(seats: 2)
        var state = WorkerState()
        state.locked = [3]
        dispatcher.report(seat: 1, state: state, coordinator: 1, now: 0)
        #expect(dispatcher.followLocks(now: 0).isEmpty && dispatcher.locked == [3])
        _ = dispatcher.leave(seat: 1, now: 0)
        #expect(dispatcher.followLocks(now: 0) == [3] && dispatcher.locked.isEmpty)
    }

    @Test func `what moves a reading while it lasts is not lost`() throws {
        var dispatcher = dispatcher()
        let key = ReadyKey(destination: .none, qos: .default)
        dispatcher.found([key], shard: 0)
        let first = try #require(dispatcher.refills().first)
        dispatcher.refilled(first, (1...first.limit).map { ready(Int64($0) + 100) })
        let second = try #require(dispatcher.refills().first)
        #expect(second.afterTurn > 100)
        // Something old has to leave memory, while the store answers.
        dispatcher.insert([ready(7, age: -1_000_000)] + (1...256).map { ready($0 + 10_000, age: 100_000) })
        dispatcher.refilled(second, [])
        for number in Int64(1)...256 { dispatcher.transition(report(ready(number + 10_000), .success), now: 0) }
        #expect(dispatcher.refills().map(\.afterTurn) == [6])
    }

    @Test func `who can run a backlog gets it at once`() {
        var dispatcher = dispatcher()
        let key = ReadyKey(destination: .none, qos: .default)
        let backlog = (1...100).map { ready($0, type: "rare") }
        dispatcher.found([key], shard: 0, now: 0)
        _ = read(backlog, by: &dispatcher, now: 0)
        let hello = Hello(
            pid: 1, startTime: 1, bootID: "b", concurrency: 4, grace: .seconds(1), types: ["rare"], executing: [])
        dispatcher.register(WorkerRecord(seat: 5, epoch: 9, hello: hello))
        dispatcher.found([key], shard: 0, now: 1)
        #expect(read(backlog, by: &dispatcher, now: 1).first == 0)
        #expect(numbers(dispatcher.dispatch(at: at, now: 1)).first == 1)
    }

    @Test func `what is offered is not offered twice, and is forgotten after two seconds`() {
        var dispatcher = dispatcher()
        dispatcher.insert([ready(1)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [1])
        dispatcher.insert([ready(1)])
        #expect(value(dispatcher.dispatch(at: at, now: 0)).isEmpty)
        #expect(value(dispatcher.forgotten(now: Dispatcher.timeout)).isEmpty)
        #expect(value(dispatcher.forgotten(now: Dispatcher.timeout + 1)) == [ready(1).id])
        dispatcher.insert([ready(1)])
        #expect(numbers(dispatcher.dispatch(at: at, now: Dispatcher.timeout + 1)) == [1])
    }

    @Test func `what is claimed is not forgotten`() {
        var dispatcher = dispatcher()
        dispatcher.insert([ready(1)])
        _ = dispatcher.dispatch(at: at, now: 0)
        dispatcher.transition(report(ready(1), .queued), now: 1)
        #expect(value(dispatcher.forgotten(now: 10 * Self.second)).isEmpty)
        #expect(dispatcher.holder(of: ready(1).id) == 0)
        dispatcher.transition(report(ready(1), .success), now: 1)
        #expect(dispatcher.holder(of: ready(1).id) == nil)
    }

    @Test func `a dead worker's offers are given back`() {
        var dispatcher = dispatcher()
        dispatcher.insert([ready(1), ready(2)])
        _ = dispatcher.dispatch(at: at, now: 0)
        #expect(Set(dispatcher.leave(seat: 0, now: 0)) == [ready(1).id, ready(2).id])
        #expect(dispatcher.seats.isEmpty)
    }

    @Test func `suspects are spread over the workers, a few for each`() {
        var dispatcher = dispatcher(seats: 2, concurrency: 16)
        dispatcher.insert((1...20).map { ready(Int64($0), suspect: true) })
        let first = dispatcher.dispatch(at: at, now: 0)
        #expect(first.map(\.offers.offers.count) == [8, 8])
        let done = first[0].offers.offers[0].id
        dispatcher.transition(report(ready(Int64(done.high)), .success), now: 1)
        #expect(value(dispatcher.dispatch(at: at, now: 1)).map(\.offers.offers.count) == [1])
    }

    @Test func `restores what was claimed before a restart`() {
        var dispatcher = dispatcher()
        let row = claimed(ready(1))
        #expect(value(dispatcher.reconcile([row], shard: 0, now: 0)).isEmpty)
        #expect(dispatcher.holder(of: row.id) == 0)
        #expect(value(dispatcher.reconcile([], shard: 0, now: 0)) == [row.id], "the store is asked whether it is ready")
        #expect(dispatcher.holder(of: row.id) == nil)
    }

    @Test func `what is reported while claims are read is newer than they are`() {
        var dispatcher = dispatcher()
        let (ended, begun) = (ready(1), ready(9))
        let shard = ended.id.shard(of: dispatcher.shardCount)
        #expect(begun.id.shard(of: dispatcher.shardCount) == shard)
        dispatcher.insert([ended, begun])
        _ = dispatcher.dispatch(at: at, now: 0)
        dispatcher.transition(report(ended, .queued), now: 0)
        #expect(value(dispatcher.willReconcile(shard: shard)))
        #expect(value(!dispatcher.willReconcile(shard: shard)), "they are being read already")
        dispatcher.transition(report(begun, .queued), now: 1)
        dispatcher.transition(report(ended, .success), now: 1)
        #expect(value(dispatcher.reconcile([claimed(ended)], shard: shard, now: 2)).isEmpty)
        #expect(dispatcher.holder(of: ended.id) == nil, "held again though it has ended")
        #expect(dispatcher.holder(of: begun.id) == 0, "let go though it runs")
        // Of the next reading both are believed.
        #expect(value(dispatcher.willReconcile(shard: shard)))
        #expect(value(dispatcher.reconcile([], shard: shard, now: 3)) == [begun.id])
    }
}
