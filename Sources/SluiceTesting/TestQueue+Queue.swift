internal import Commands
internal import Coordination
internal import NetworkControl
internal import Store
internal import Wire

/// The commands that are ready, and the times at which something is due.
extension TestQueue {
    private static let batch = 1000

    /// Lets everything happen whose time has come: ends of waits, deadlines, schedules, and effects that are still owed.
    func promote() throws(SluiceError) {
        let now = clock.now
        try stored { () throws(StoreError) in
            while try store.promoteDue(shard: Self.shard, now: now, limit: Self.batch).ready.count == Self.batch {}
            var hasRequests = false
            while true {
                let effects = try store.expire(shard: Self.shard, now: now, limit: Self.batch).effects
                hasRequests = hasRequests || !effects.requests.isEmpty
                if effects.events.isEmpty && effects.requests.isEmpty { break }
            }
            var hasChanged = true
            while hasChanged {
                let round = try store.fireSchedules(shard: Self.shard, .due, now: now, limit: Self.batch) {
                    schedule, last in
                    ScheduleTiming(schedule.definition, in: .system).decision(for: schedule.state, now: now, last: last)
                }
                if let problem = round.problems.first { throw StoreError(.invalid, problem) }
                hasRequests = hasRequests || !round.effects.requests.isEmpty
                hasChanged = round.next != nil && !round.changes.isEmpty
            }
            var isCarried = false
            while !isCarried {
                while try store.settle(shard: Self.shard, now: now, limit: Self.batch).hasMore {}
                let effects = try store.carryMessages(from: Self.shard, except: [], now: now).effects
                hasRequests = hasRequests || !effects.requests.isEmpty
                isCarried = effects.isEmpty
            }
            if hasRequests { running.cancelRequested() }
        }
        try publish()
    }

    /// The ready command that runs next: by class, then by age and quality of service, then by turn, as a coordinator with
    /// one free slot chooses.
    func nextReady() throws(SluiceError) -> ReadyCommand? {
        let queue = ReadyQueue(shardCount: 1)
        let keys = try stored { () throws(StoreError) in try store.readyKeys(shard: Self.shard) }
        var first: ReadyCommand?
        for key in keys where try isAdmitted(key) {
            guard let found = try firstReady(key) else { continue }
            guard let known = first else {
                first = found
                continue
            }
            let isEarlier =
                found.qos.serviceClass == known.qos.serviceClass
                ? (queue.order(of: found), found.turn) < (queue.order(of: known), known.turn)
                : found.qos.serviceClass > known.qos.serviceClass
            if isEarlier { first = found }
        }
        return first
    }

    /// Whether neither the network nor a pause holds commands of this key.
    private func isAdmitted(_ key: ReadyKey) throws(SluiceError) -> Bool {
        guard !isOffline(key.destination) else { return false }
        return !Pause.parse(store.settings(prefix: "pause.")).contains { pause in
            (pause.qos ?? key.qos) == key.qos && (pause.destination ?? key.destination) == key.destination
        }
    }

    func isOffline(_ destination: Destination) -> Bool {
        withState { state in
            destination != .none && (state.isAllOffline || state.offline.contains(destination))
        }
    }

    private func firstReady(_ key: ReadyKey) throws(SluiceError) -> ReadyCommand? {
        let (waits, now) = (withState { $0.waits }, clock.now)
        var turn: Int64 = 0
        while true {
            let page = try stored { () throws(StoreError) in
                try store.ready(shard: Self.shard, key: key, afterTurn: turn, limit: 100)
            }
            if let found = page.first(where: { !waits.holds($0.id, now: now) }) { return found }
            guard let last = page.last else { return nil }
            turn = last.turn
        }
    }

    /// The next time at which something happens by itself; nil where nothing waits for a time.
    func nextDue() throws(SluiceError) -> Timestamp? {
        let now = clock.now
        return try stored { () throws(StoreError) in
            let times = [
                try store.promoteDue(shard: Self.shard, now: .zero, limit: 0).next,
                try store.expire(shard: Self.shard, now: .zero, limit: 0).next,
                withState { $0.waits.next(after: now) },
                try store.schedules().compactMap(\.state.next).min(),
            ]
            return times.compactMap { $0 }.filter { $0 > now }.min()
        }
    }

    /// Tells the client of the transitions since the last call, as the coordinator does.
    func publish() throws(SluiceError) {
        while true {
            let after = withState { $0.published }
            let events = try stored { () throws(StoreError) in
                try store.events(shard: Self.shard, after: after, limit: Self.batch)
            }
            guard let last = events.last else { return }
            // Two tasks of a test may call at once.
            let isFirst = withState { state in
                defer { state.published = max(state.published, last.transition.seq) }
                return state.published == after
            }
            guard isFirst else { continue }
            for event in events {
                var writer = JSONWriter()
                Event.status(event, to: &writer)
                client.deliver(writer.bytes)
            }
        }
    }
}
