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
        #expect(dispatcher.queue.count == 256)
        let offered = numbers(dispatcher.dispatch(at: at, now: 0))
        #expect(offered.first == 900 && offered.count == 200)
        // The one that made way, 256, is read again.
        #expect(dispatcher.refills().map(\.afterTurn) == [255])
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
        policy.longestStandstill = .seconds(20)
        var aging = dispatcher(links: LinkGovernors(policy: policy))
        aging.insert([ready(1, .userInteractive), ready(2, .userInitiated, age: 12_000)])
        #expect(numbers(aging.dispatch(at: at, now: 0)) == [2, 1])
        var full = dispatcher(concurrency: 1, links: LinkGovernors(policy: policy))
        full.insert([ready(1), ready(2, .background, age: 21_000)])
        #expect(numbers(full.dispatch(at: at, now: 0)) == [1])
        #expect(numbers(full.dispatch(at: at, now: 0)) == [2])
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

    @Test func `what is offered is not offered twice, and is forgotten after two seconds`() {
        var dispatcher = dispatcher()
        dispatcher.insert([ready(1)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [1])
        dispatcher.insert([ready(1)])
        #expect(value(dispatcher.dispatch(at: at, now: 0)).isEmpty)
        #expect(value(dispatcher.forgotten(now: Dispatcher.patience)).isEmpty)
        #expect(value(dispatcher.forgotten(now: Dispatcher.patience + 1)) == [ready(1).id])
        dispatcher.insert([ready(1)])
        #expect(numbers(dispatcher.dispatch(at: at, now: Dispatcher.patience + 1)) == [1])
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
        let row = ClaimedRow(
            id: ready(1).id, status: .sent, type: "noop", qos: .default, destination: .none, seat: 0, epoch: 1,
            claim: 1,
            retries: 0, suspect: false, updatedAt: at)
        dispatcher.reconcile([row], shard: 0, now: 0)
        #expect(dispatcher.holder(of: row.id) == 0)
        dispatcher.reconcile([], shard: 0, now: 0)
        #expect(dispatcher.holder(of: row.id) == nil)
    }
}
