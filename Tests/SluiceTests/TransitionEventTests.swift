import Host
import Sluice
import Store
import TestSupport
import Testing

/// The transitions that ``SluiceClient/events(since:matching:)`` reads from the store.
struct TransitionEventTests {
    private func submit(_ count: Int, _ rig: Rig) async throws -> [CommandID] {
        let draft = try rig.client.draft("noop", payload: ["echo": 1])
        return try await rig.client.submit(bulk: Array(repeating: draft, count: count)).map { try $0.get() }
    }

    /// Every transition of the store, as “shard/number”.
    private func stored(_ rig: Rig) throws -> Set<String> {
        var all: Set<String> = []
        for shard in 0..<rig.store.shardCount {
            for event in try rig.store.events(shard: shard, after: 0, limit: 1_000_000).events {
                all.insert("\(shard)/\(event.transition.seq)")
            }
        }
        return all
    }

    private func name(_ event: TransitionEvent) -> String? {
        guard case .transition(let change) = event.change else { return nil }
        return "\(change.shard)/\(change.transition.seq)"
    }

    @Test func `a reader from the start gets each transition once, and then those that follow`() async throws {
        try await Rig.with { rig in
            let ids = try await submit(2500, rig)
            var events = try rig.client.events(since: .start).makeAsyncIterator()
            var names: [String] = []
            let old = try stored(rig)
            while names.count < old.count { names.append(try #require(try await events.next().flatMap(name))) }
            #expect(Set(names) == old)
            try rig.execute(ids[0])
            var statuses: [CommandStatus] = []
            while statuses.last != .success {
                guard case .transition(let change)? = try await events.next()?.change else { throw Missed("a gap") }
                #expect(change.transition.id == ids[0] && change.type == "noop")
                #expect(change.destination == Destination(scheme: "http", host: "echo", port: 80))
                statuses.append(change.transition.status)
            }
            #expect(statuses.count >= 2)
        }
    }

    @Test func `a reader that stops anywhere goes on behind its last event`() async throws {
        try await Rig.with { rig in
            for id in try await submit(40, rig) { try rig.execute(id) }
            let expected = try stored(rig)
            var names: [String] = []
            var position = TransitionPosition.start
            while names.count < expected.count {
                // A new reader for each seven events, whose position went through a text.
                let client = try SluiceClient(data: rig.directory.path, operations: [Echo()])
                var events = try client.events(since: position).makeAsyncIterator()
                for _ in 0..<min(7, expected.count - names.count) {
                    let event = try #require(try await events.next())
                    names.append(try #require(name(event)))
                    position = try #require(TransitionPosition(event.position.text))
                }
                await client.close()
            }
            #expect(names.count == expected.count && Set(names) == expected)
            let newest = try await rig.client.newestPosition()
            #expect(position == newest)
        }
    }

    @Test func `transitions that were pruned are gaps, and the numbers go on behind them`() async throws {
        try await Rig.with { rig in
            let position = try await rig.client.newestPosition()
            for id in try await submit(20, rig) { try rig.execute(id) }
            let end = try await rig.client.newestPosition()
            for shard in 0..<rig.store.shardCount {
                _ = try rig.store.prune(shard: shard, before: .now + .seconds(60), statuses: [.success], limit: 1000)
            }
            // Nothing is left, and still the numbers of the shards are known.
            let now = try await rig.client.newestPosition()
            #expect(try stored(rig).isEmpty && now == end)
            var events = try rig.client.events(since: position).makeAsyncIterator()
            var last = position
            var missing: Int64 = 0
            while last != end {
                let event = try #require(try await events.next())
                guard case .gap(let gap) = event.change else { throw Missed("\(event) is not a gap") }
                missing += Int64(gap.numbers.count)
                last = event.position
            }
            let expected = zip(end.numbers, position.filled(end.numbers.count)?.numbers ?? []).reduce(Int64(0)) {
                $0 + $1.0 - $1.1
            }
            #expect(missing == expected)
            let id = try await submit(1, rig)[0]
            guard case .transition(let change)? = try await events.next()?.change else { throw Missed("a gap") }
            #expect(change.transition.id == id && change.transition.status == .new)
        }
    }

    @Test func `a filter admits the transitions of its commands, destinations and statuses`() async throws {
        try await Rig.with { rig in
            let ids = try await submit(5, rig)
            for id in ids { try rig.execute(id) }
            func statuses(_ filter: TransitionFilter, _ count: Int) async throws -> [CommandStatus] {
                var events = try rig.client.events(since: .start, matching: filter).makeAsyncIterator()
                var found: [CommandStatus] = []
                while found.count < count {
                    guard case .transition(let change)? = try await events.next()?.change else { throw Missed("a gap") }
                    found.append(change.transition.status)
                }
                return found
            }
            let success = try await statuses(TransitionFilter(statuses: [.success]), 5)
            #expect(success == Array(repeating: .success, count: 5))
            let one = try await statuses(TransitionFilter(ids: [ids[3]], statuses: [.new, .success]), 2)
            #expect(one == [.new, .success])
            let echo = Destination(scheme: "http", host: "echo", port: 80)
            #expect(try await statuses(TransitionFilter(destinations: [echo], statuses: [.new]), 5).count == 5)
        }
    }

    @Test func `a reader ends with its task, and with its client`() async throws {
        try await Rig.with { rig in
            _ = try await submit(3, rig)
            let counts = [Shared(0), Shared(0)]
            let readers = try counts.map { count in
                let events = try rig.client.events(since: .start)
                return Task { for try await _ in events { count.change { $0 += 1 } } }
            }
            try await until("the transitions") { counts.allSatisfy { $0.value == 3 } }
            readers[0].cancel()
            try await readers[0].value
            await rig.client.close()
            try await readers[1].value
            var later = try rig.client.events(since: .start).makeAsyncIterator()
            let event = try await later.next()
            #expect(event == nil)
        }
    }

    @Test func `a consumer that is slow holds one page, and the rest stays in the store`() async throws {
        try await Rig.with { rig in
            let ids = try await submit(3000, rig)
            var events = try rig.client.events(since: .start).makeAsyncIterator()
            let first = try await events.next().flatMap(name)
            #expect(first != nil)
            for (shard, ids) in Dictionary(grouping: ids, by: { $0.shard(of: rig.store.shardCount) }) {
                _ = try rig.store.cancel(ids, shard: shard, reason: "test")
                _ = try rig.store.prune(shard: shard, before: .now + .seconds(60), statuses: [.cancelled], limit: 3000)
            }
            // A reader that reads ahead would have transitions that the store has no more.
            let end = try await rig.client.newestPosition()
            var names: [String] = []
            var last: TransitionPosition?
            while last != end {
                let event = try #require(try await events.next())
                if let name = name(event) { names.append(name) }
                last = event.position
            }
            #expect(names.count == 999)
        }
    }

    @Test func `a position of a store with another number of shards is refused`() async throws {
        try await Rig.with { rig in
            let numbers = Array(repeating: Int64(0), count: rig.store.shardCount + 1)
            let error = #expect(throws: SluiceError.self) {
                try rig.client.events(since: TransitionPosition(numbers))
            }
            #expect(error?.code == .invalid && error?.message.contains("\(rig.store.shardCount) shards") == true)
        }
    }
}
