import Commands
import Host
import NetworkControl
import Store
import Testing
import Wire

@testable import Coordination

@Suite struct DispatcherTests: DispatcherFixtures {
    @Test func `commands are offered by class first, then by age`() {
        var dispatcher = dispatcher()
        dispatcher.insert([
            ready(1, .background), ready(2, .default), ready(3, .userInitiated), ready(4, .userInteractive),
        ])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [4, 3, 2, 1])
    }

    @Test func `a requalified command is dispatched by its new priority`() {
        var dispatcher = dispatcher(concurrency: 1)
        let commands = (1...3000).map { ready($0, .background) }
        dispatcher.insert(commands)
        dispatcher.changed([commands[2999].id])
        dispatcher.insert([ready(3000, .userInteractive)])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)).first == 3000)
    }

    @Test func `a command that is first in its class displaces another from a full queue`() {
        var dispatcher = dispatcher(concurrency: 100)
        dispatcher.insert((1...300).map { ready($0, .userInitiated) })
        dispatcher.insert([ready(900, .userInteractive)])
        #expect(dispatcher.queue.count == 257)
        let offered = numbers(dispatcher.dispatch(at: at, now: .zero))
        #expect(offered.first == 900 && offered.count == 200)
        // The first command that did not fit, 257, is read again.
        #expect(dispatcher.refills().map(\.afterTurn) == [256])
    }

    @Test func `a command that comes back precedes later ones of the same millisecond`() {
        // A bulk submit has one time for thousands of commands: those of a dead worker must not wait behind
        // the others.
        var dispatcher = dispatcher(concurrency: 2)
        dispatcher.insert((10...265).map { ready($0, age: $0) })
        dispatcher.insert([ready(1, age: 1), ready(300, age: 300)])
        #expect(dispatcher.queue.contains(ready(1).id) && !dispatcher.queue.contains(ready(300).id))
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)).first == 1)
    }

    @Test func `a quality of service without commands in a full queue is read`() {
        var dispatcher = dispatcher(concurrency: 2)
        dispatcher.insert((1...256).map { ready($0, .userInitiated) })
        let first = ReadyKey(destination: .none, qos: .userInteractive)
        let last = ReadyKey(destination: .none, qos: .userInitiated)
        dispatcher.found([first, last], shard: 0)
        let refills = dispatcher.refills()
        #expect(refills.map(\.key) == [first])
        dispatcher.refilled(refills[0], [ready(900, .userInteractive)])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)).first == 900)
    }

    @Test func `commands that do not fit behind better ones are not read again and again`() {
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
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [2, 1, 3, 4])
    }

    @Test func `the policy says how long a step is, and how long a class waits for its floor`() {
        var policy = NetworkPolicy()
        policy.agingStep = .seconds(10)
        policy.maxStandstill = .seconds(20)
        var aging = dispatcher(links: LinkAdmission(policy: policy))
        aging.insert([ready(1, .userInteractive), ready(2, .userInitiated, age: 12_000)])
        #expect(numbers(aging.dispatch(at: at, now: .zero)) == [2, 1])
        var full = dispatcher(concurrency: 1, links: LinkAdmission(policy: policy))
        full.insert([ready(1), ready(2, .background, age: 21_000)])
        #expect(numbers(full.dispatch(at: at, now: .zero)) == [1, 2])
    }

    @Test func `a worker is offered no more than its window`() {
        var dispatcher = dispatcher(concurrency: 2)
        dispatcher.insert((1...5).map { ready(Int64($0)) })
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [1, 2])
        #expect(value(dispatcher.dispatch(at: at, now: .zero)).isEmpty)
        var state = WorkerState()
        state.coordinator = 9
        state.seen = 2
        state.resolved = 1
        dispatcher.report(seat: 0, state: state, coordinator: 9, now: after(nanoseconds: 1))
        #expect(numbers(dispatcher.dispatch(at: at, now: after(nanoseconds: 1))) == [3])
    }

    @Test func `high quality has room when the window is full`() {
        var dispatcher = dispatcher(concurrency: 2)
        dispatcher.insert((1...2).map { ready(Int64($0)) })
        _ = dispatcher.dispatch(at: at, now: .zero)
        dispatcher.insert([ready(3), ready(4, .userInitiated)])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [4])
    }

    @Test func `commands of one shard are shared by workers that have free slots`() {
        var dispatcher = dispatcher(seats: 2, concurrency: 16)
        dispatcher.insert((1...8).map { ready(Int64($0), shard: 3) })
        let counts = dispatcher.dispatch(at: at, now: .zero).map(\.offers.offers.count)
        #expect(counts.reduce(0, +) == 8 && counts.allSatisfy { $0 >= 3 }, "\(counts)")
    }

    @Test func `each worker is preferred for its shards, but none stays idle for that`() {
        var dispatcher = dispatcher(seats: 2, concurrency: 2)
        dispatcher.insert([ready(1, shard: 0), ready(2, shard: 2), ready(3, shard: 1), ready(4, shard: 3)])
        let both = dispatcher.dispatch(at: at, now: .zero)
        #expect(both.map { $0.offers.offers.map(\.id.high) } == [[1, 2], [3, 4]])
        var other = self.dispatcher(seats: 2, concurrency: 2)
        other.insert((1...4).map { ready(Int64($0), shard: 0) })
        #expect(value(other.dispatch(at: at, now: .zero)).map(\.offers.offers.count) == [2, 2])
    }

    @Test func `every worker is offered commands ahead of its slots, also where workers outnumber the shards`() {
        var dispatcher = dispatcher(seats: 16, concurrency: 1)
        var state = WorkerState()
        state.coordinator = 9
        for (time, completed) in [(0.0, Int64(0)), (1.0, 100)] {
            state.completed = completed
            for seat in 0..<16 { dispatcher.report(seat: seat, state: state, coordinator: 9, now: after(time)) }
        }
        dispatcher.insert((0..<128).map { ready($0, shard: UInt8($0 % 8)) })
        let counts = dispatcher.dispatch(at: at, now: after(1)).map(\.offers.offers.count)
        #expect(counts == Array(repeating: 5, count: 16))
    }

    @Test func `destinations take turns`() {
        var dispatcher = dispatcher(concurrency: 4)
        let other = Destination(scheme: "http", host: "b", port: 80)
        dispatcher.insert((1...4).map { ready(Int64($0), to: host) } + (5...8).map { ready(Int64($0), to: other) })
        let offered = Set(numbers(dispatcher.dispatch(at: at, now: .zero)))
        #expect(offered == [1, 2, 5, 6])
    }

    @Test func `a type is offered only to workers that run it`() {
        var dispatcher = dispatcher(types: ["upload"])
        dispatcher.insert([ready(1), ready(2, type: "upload")])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [2])
    }

    @Test func `memory holds at most 256 commands of each destination and class`() {
        var dispatcher = dispatcher()
        dispatcher.insert((1...400).map { ready(Int64($0)) })
        #expect(dispatcher.queue.count == 256)
        dispatcher.insert([ready(1000, to: host)])
        #expect(dispatcher.queue.count == 257)
        // Commands that did not fit are read again from the store, from the first that was refused.
        _ = dispatcher.dispatch(at: at, now: .zero)
        for number in 1...4 { dispatcher.transition(report(ready(Int64(number)), .success), now: .zero) }
        #expect(value(dispatcher.refills()).isEmpty)
    }

    @Test func `the queue is refilled when it runs low, until the end of the store`() throws {
        var dispatcher = dispatcher()
        let key = ReadyKey(destination: .none, qos: .default)
        dispatcher.found([key], shard: 3)
        dispatcher.found([key], shard: 5)
        let both = dispatcher.refills()
        #expect(Set(both.map(\.shard)) == [3, 5])
        #expect(both.map(\.afterTurn) == [0, 0])
        #expect(both.map(\.limit) == [128, 128], "the shards share what is missing")
        #expect(value(dispatcher.refills()).isEmpty, "one read of a shard at a time")
        dispatcher.refilled(both[0], (1...128).map { ready($0, shard: UInt8(both[0].shard)) })
        #expect(value(dispatcher.refills()).isEmpty, "the shard has its share")
        dispatcher.refilled(both[1], [])
        // The other shard has come to its end: this one fills memory alone.
        let next = try #require(dispatcher.refills().first)
        #expect(next.shard == both[0].shard && next.afterTurn == 128 && next.limit == 128)
        dispatcher.refilled(next, [])
        #expect(value(dispatcher.refills()).isEmpty)
    }

    @Test func `the shards of a key are read with few rows more than they have, the oldest first`() {
        let count = 64
        var dispatcher = Dispatcher(shardCount: count, links: LinkAdmission())
        let hello = Hello(
            pid: 1, startTime: 1, bootID: "b", concurrency: 128, types: ["noop"], executing: [])
        dispatcher.workerJoined(WorkerRecord(seat: 0, epoch: 1, hello: hello))
        let key = ReadyKey(destination: .none, qos: .default)
        // The last shard has ten times as many as the others.
        var left = (0..<count).map { shard in
            (0..<(shard == count - 1 ? 1000 : 100)).map { ready(Int64($0 * count + shard + 1), shard: UInt8(shard)) }
        }
        let all = left.reduce(0) { $0 + $1.count }
        for shard in 0..<count { dispatcher.found([key], shard: shard) }
        var (rows, reads, ended, oldest) = (0, 0, 0, 0)
        for _ in 0..<all where ended < all {
            for refill in dispatcher.refills() {
                let found = Array(left[refill.shard].drop { $0.turn <= refill.afterTurn }.prefix(refill.limit))
                (rows, reads) = (rows + found.count, reads + 1)
                dispatcher.refilled(refill, found)
            }
            for id in dispatcher.dispatch(at: at, now: .zero).flatMap({ $0.offers.offers.map(\.id) }) {
                let shard = id.shard(of: count)
                if left[shard].first?.id == id { oldest += 1 }
                left[shard].removeAll { $0.id == id }
                ended += 1
                dispatcher.transition(
                    report(ready(Int64(id.high), shard: UInt8(shard)), .success), now: .zero)
            }
        }
        #expect(ended == all && oldest == all)
        #expect(rows < all * 3 / 2 && reads < all / 2, "\(rows) rows in \(reads) reads")
    }

    /// Answers all refills from `backlog`.
    /// - Returns: the turns behind which it was read.
    private func read(_ backlog: [ReadyCommand], by dispatcher: inout Dispatcher, now: MonotonicTime) -> [Int64] {
        var starts: [Int64] = []
        while let refill = dispatcher.refills().first {
            starts.append(refill.afterTurn)
            let rows = backlog.filter { $0.turn > refill.afterTurn }.prefix(refill.limit)
            dispatcher.refilled(refill, Array(rows), now: now)
        }
        return starts
    }

    @Test func `a backlog that no worker can run is read once a minute, in large steps`() {
        var dispatcher = dispatcher()
        let key = ReadyKey(destination: .none, qos: .default)
        var backlog = (1...20_000).map { ready($0, type: "rare") }
        dispatcher.found([key], shard: 0, now: .zero)
        #expect(read(backlog, by: &dispatcher, now: .zero).count < 20)
        // Every sweep finds the commands behind it.
        backlog.append(ready(20_001))
        dispatcher.found([key], shard: 0, now: after(5))
        #expect(read(backlog, by: &dispatcher, now: after(5)) == [20_000])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [20_001])
        // A command that has come among them is found within a minute.
        dispatcher.found([key], shard: 0, now: after(59))
        #expect(read(backlog, by: &dispatcher, now: after(59)).first == 20_000)
        dispatcher.found([key], shard: 0, now: after(61))
        #expect(read(backlog, by: &dispatcher, now: after(61)).first == 0)
    }

    @Test func `commands of a locked shard are not offered, and no other command waits for them`() throws {
        var dispatcher = dispatcher(seats: 2, concurrency: 2)
        dispatcher.insert([ready(1, shard: 1), ready(2, shard: 2), ready(3, shard: 1), ready(4, shard: 2)])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)).count == 4)
        var state = WorkerState()
        state.coordinator = 1
        (state.seen, state.resolved) = (2, 2)
        state.locked = [1]
        dispatcher.report(seat: 0, state: state, coordinator: 1, now: .zero)
        #expect(dispatcher.followLocks(now: .zero) == [] && dispatcher.locked == [1])
        // Offers of that shard are withdrawn; the others stay.
        #expect(dispatcher.holder(of: ready(1, shard: 1).id) == nil)
        #expect(dispatcher.holder(of: ready(2, shard: 2).id) != nil)
        // Its commands take no space in memory either, however they come.
        dispatcher.insert([ready(5, shard: 1)] + (10...300).map { ready($0, shard: 2) })
        let key = ReadyKey(destination: .none, qos: .default)
        dispatcher.found([key], shard: 1)
        #expect(dispatcher.queue.count == 256 && !dispatcher.queue.contains(ready(5, shard: 1).id))
        #expect(!dispatcher.refills().contains { $0.shard == 1 })

        state.locked = []
        dispatcher.report(seat: 0, state: state, coordinator: 1, now: after(nanoseconds: 1))
        #expect(dispatcher.followLocks(now: after(nanoseconds: 1)) == [1], "it is to be read again")
        dispatcher.insert([ready(1, shard: 1)])
        #expect(dispatcher.queue.contains(ready(1, shard: 1).id))
    }

    @Test func `a shard is free again when the worker that found it locked has left`() {
        var dispatcher = dispatcher(seats: 2)
        var state = WorkerState()
        state.locked = [3]
        dispatcher.report(seat: 1, state: state, coordinator: 1, now: .zero)
        #expect(dispatcher.followLocks(now: .zero).isEmpty && dispatcher.locked == [3])
        _ = dispatcher.workerLeft(seat: 1, now: .zero)
        #expect(dispatcher.followLocks(now: .zero) == [3] && dispatcher.locked.isEmpty)
    }

    @Test func `a cursor that is moved during a read is not lost`() throws {
        var dispatcher = dispatcher()
        let key = ReadyKey(destination: .none, qos: .default)
        dispatcher.found([key], shard: 0)
        let first = try #require(dispatcher.refills().first)
        let rows = (1...first.limit).map { ready(Int64($0) + 100) }
        dispatcher.refilled(first, rows)
        for row in rows.prefix(200) { dispatcher.transition(report(row, .success), now: .zero) }
        let second = try #require(dispatcher.refills().first)
        #expect(second.afterTurn > 100)
        // An older command has to leave memory while the store answers.
        dispatcher.insert([ready(7, age: -1_000_000)] + (1...256).map { ready($0 + 10_000, shard: 1, age: 100_000) })
        dispatcher.refilled(second, [])
        for number in Int64(1)...256 {
            dispatcher.transition(report(ready(number + 10_000, shard: 1), .success), now: .zero)
        }
        #expect(dispatcher.refills().map(\.afterTurn) == [6])
    }

    @Test func `a worker that can run a backlog gets it at once`() {
        var dispatcher = dispatcher()
        let key = ReadyKey(destination: .none, qos: .default)
        let backlog = (1...100).map { ready($0, type: "rare") }
        dispatcher.found([key], shard: 0, now: .zero)
        _ = read(backlog, by: &dispatcher, now: .zero)
        let hello = Hello(
            pid: 1, startTime: 1, bootID: "b", concurrency: 4, types: ["rare"], executing: [])
        dispatcher.workerJoined(WorkerRecord(seat: 5, epoch: 9, hello: hello))
        dispatcher.found([key], shard: 0, now: after(nanoseconds: 1))
        #expect(read(backlog, by: &dispatcher, now: after(nanoseconds: 1)).first == 0)
        #expect(numbers(dispatcher.dispatch(at: at, now: after(nanoseconds: 1))).first == 1)
    }

    @Test func `an offer is not made twice, and is withdrawn after two seconds`() {
        var dispatcher = dispatcher()
        dispatcher.insert([ready(1)])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [1])
        dispatcher.insert([ready(1)])
        #expect(value(dispatcher.dispatch(at: at, now: .zero)).isEmpty)
        #expect(value(dispatcher.withdrawUnclaimed(now: .zero + Dispatcher.timeout)).isEmpty)
        #expect(value(dispatcher.withdrawUnclaimed(now: .zero + Dispatcher.timeout + .nanoseconds(1))) == [ready(1).id])
        dispatcher.insert([ready(1)])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero + Dispatcher.timeout + .nanoseconds(1))) == [1])
    }

    @Test func `a claimed command is not withdrawn`() {
        var dispatcher = dispatcher()
        dispatcher.insert([ready(1)])
        _ = dispatcher.dispatch(at: at, now: .zero)
        dispatcher.transition(report(ready(1), .queued), now: after(nanoseconds: 1))
        #expect(value(dispatcher.withdrawUnclaimed(now: after(10))).isEmpty)
        #expect(dispatcher.holder(of: ready(1).id) == 0)
        dispatcher.transition(report(ready(1), .success), now: after(nanoseconds: 1))
        #expect(dispatcher.holder(of: ready(1).id) == nil)
    }

    @Test func `the offers of a dead worker are returned`() {
        var dispatcher = dispatcher()
        dispatcher.insert([ready(1), ready(2)])
        _ = dispatcher.dispatch(at: at, now: .zero)
        #expect(Set(dispatcher.workerLeft(seat: 0, now: .zero)) == [ready(1).id, ready(2).id])
        #expect(dispatcher.seats.isEmpty)
    }

    @Test func `suspects are spread over the workers, a few to each`() {
        var dispatcher = dispatcher(seats: 2, concurrency: 16)
        dispatcher.insert((1...20).map { ready(Int64($0), suspect: true) })
        let first = dispatcher.dispatch(at: at, now: .zero)
        #expect(first.map(\.offers.offers.count) == [8, 8])
        let done = first[0].offers.offers[0].id
        dispatcher.transition(report(ready(Int64(done.high)), .success), now: after(nanoseconds: 1))
        #expect(value(dispatcher.dispatch(at: at, now: after(nanoseconds: 1))).map(\.offers.offers.count) == [1])
    }

    @Test func `claims from before a restart are restored`() {
        var dispatcher = dispatcher()
        let row = claimed(ready(1))
        #expect(value(dispatcher.reconcile([row], shard: 0, now: .zero)).isEmpty)
        #expect(dispatcher.holder(of: row.id) == 0)
        #expect(
            value(dispatcher.reconcile([], shard: 0, now: .zero)) == [row.id], "the store is asked whether it is ready")
        #expect(dispatcher.holder(of: row.id) == nil)
    }

    @Test func `reports that come while claims are read are newer than the claims`() {
        var dispatcher = dispatcher()
        let (ended, begun) = (ready(1), ready(9))
        let shard = ended.id.shard(of: dispatcher.shardCount)
        #expect(begun.id.shard(of: dispatcher.shardCount) == shard)
        dispatcher.insert([ended, begun])
        _ = dispatcher.dispatch(at: at, now: .zero)
        dispatcher.transition(report(ended, .queued), now: .zero)
        #expect(value(dispatcher.willReconcile(shard: shard)))
        #expect(value(!dispatcher.willReconcile(shard: shard)), "they are being read already")
        dispatcher.transition(report(begun, .queued), now: after(nanoseconds: 1))
        dispatcher.transition(report(ended, .success), now: after(nanoseconds: 1))
        #expect(value(dispatcher.reconcile([claimed(ended)], shard: shard, now: after(nanoseconds: 2))).isEmpty)
        #expect(dispatcher.holder(of: ended.id) == nil, "held again though it has ended")
        #expect(dispatcher.holder(of: begun.id) == 0, "let go though it runs")
        // The next reading is believed for both.
        #expect(value(dispatcher.willReconcile(shard: shard)))
        #expect(value(dispatcher.reconcile([], shard: shard, now: after(nanoseconds: 3))) == [begun.id])
    }
}
