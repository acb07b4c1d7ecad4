package import Commands
internal import NetworkControl
package import Store

/// The part of a coordinator that a queue in one process needs: it has no lock, no sockets, no links and no clock.
///
/// It serves a store of one shard that no other process uses, so that all commands have one order. All calls block.
package struct LocalCoordinator: Sendable {
    private let store: any CommandStore

    private static let shard = 0
    /// Commands in one transaction.
    private static let batch = 1000

    package init(_ store: any CommandStore) { self.store = store }

    /// Records the types that a worker can run, so that their commands are accepted.
    package func record(types: Set<String>) throws(StoreError) { try store.record(types: types) }

    // MARK: Due times

    /// Lets everything happen whose time has come: ends of waits, deadlines, schedules, and effects that are still owed.
    /// - Returns: whether commands that a worker holds have new cancellation requests.
    /// - Throws: also `invalid` where a schedule cannot be fired.
    package func settleDue() throws(StoreError) -> Bool {
        while try store.promoteDue(shard: Self.shard, limit: Self.batch).ready.count == Self.batch {}
        let requests = [try expire(), try fireSchedules(), try settle()]
        return requests.contains(true)
    }

    private func expire() throws(StoreError) -> Bool {
        var hasRequests = false
        while true {
            let effects = try store.expire(shard: Self.shard, limit: Self.batch).effects
            hasRequests = hasRequests || !effects.requests.isEmpty
            if effects.events.isEmpty && effects.requests.isEmpty { return hasRequests }
        }
    }

    private func fireSchedules() throws(StoreError) -> Bool {
        var hasRequests = false
        while true {
            let round = try store.fireSchedules(shard: Self.shard, .due, limit: Self.batch) {
                schedule, last, now in
                ScheduleTiming(schedule.definition, in: .system).decision(for: schedule.state, now: now, last: last)
            }
            if let problem = round.problems.first { throw StoreError(.invalid, problem) }
            hasRequests = hasRequests || !round.effects.requests.isEmpty
            if round.next == nil || round.changes.isEmpty { return hasRequests }
        }
    }

    private func settle() throws(StoreError) -> Bool {
        var hasRequests = false
        while true {
            while try store.settle(shard: Self.shard, limit: Self.batch).hasMore {}
            let effects = try store.carryMessages(from: Self.shard, except: []).effects
            hasRequests = hasRequests || !effects.requests.isEmpty
            if effects.isEmpty { return hasRequests }
        }
    }

    /// The next time after `now` at which something happens by itself; nil where nothing waits for a time.
    package func nextDue(after now: Timestamp) throws(StoreError) -> Timestamp? {
        let times = [
            try store.promoteDue(shard: Self.shard, limit: 0).next,
            try store.expire(shard: Self.shard, limit: 0).next,
        ]
        let schedules = try store.schedules().map(\.state.next)
        return (times + schedules).compactMap { $0 }.filter { $0 > now }.min()
    }

    // MARK: Ready commands

    /// A command, where it is ready.
    package func ready(_ id: CommandID) throws(StoreError) -> ReadyCommand? {
        try store.ready(shard: Self.shard, ids: [id]).first
    }

    /// The ready command that runs next: by class, then by age and quality of service, then by turn, as a coordinator with
    /// one free slot chooses. Paused commands are left out.
    /// - Parameters:
    ///   - isOffline: says whether the commands of a destination cannot run.
    ///   - waits: says whether a command waits for its link.
    package func nextReady(
        isOffline: (Destination) -> Bool, waits: (CommandID) -> Bool
    ) throws(StoreError) -> ReadyCommand? {
        let queue = ReadyQueue(shardCount: 1)
        let pauses = PauseTable(Pause.parse(try store.settings(prefix: SettingKey.pausePrefix)))
        var first: ReadyCommand?
        for key in try store.readyKeys(shard: Self.shard)
        where !isOffline(key.destination) && !pauses.covers(key.destination, key.qos) {
            guard let found = try firstReady(key, waits) else { continue }
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

    private func firstReady(_ key: ReadyKey, _ waits: (CommandID) -> Bool) throws(StoreError) -> ReadyCommand? {
        var turn: Int64 = 0
        while true {
            let page = try store.ready(shard: Self.shard, key: key, afterTurn: turn, limit: 100)
            if let found = page.first(where: { !waits($0.id) }) { return found }
            guard let last = page.last else { return nil }
            turn = last.turn
        }
    }

    // MARK: Events

    /// The next transitions after a number, for monitors.
    package func events(after seq: Int64) throws(StoreError) -> [StatusEvent] {
        try store.events(shard: Self.shard, after: seq, limit: Self.batch).events
    }
}
