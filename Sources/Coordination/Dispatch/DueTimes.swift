internal import Commands
internal import Host
internal import Store

/// Makes commands ready whose `notBefore` has come, and cancels those whose deadline has passed. Confined to
/// the loop.
final class DueTimes {
    private let store: StoreAccess
    private let dispatch: DispatchRunner
    private let control: ControlPublisher
    private let events: EventPublisher
    private var isRunning = false

    /// Commands of a shard in one transaction.
    private static let batch = 1000

    init(
        _ environment: CoordinatorEnvironment, dispatch: DispatchRunner, control: ControlPublisher,
        events: EventPublisher
    ) {
        store = environment.store
        self.dispatch = dispatch
        self.control = control
        self.events = events
    }

    /// One round over all shards that are not locked. Does nothing while the last one runs.
    func run() {
        let shards = (0..<store.shardCount).filter { !dispatch.dispatcher.locked.contains($0) }
        guard !isRunning, let last = shards.last else { return }
        isRunning = true
        for shard in shards {
            store.write("Due times cannot be settled") { store throws(StoreError) in
                let now = Timestamp.now
                let due = try store.promoteDue(shard: shard, now: now, limit: Self.batch)
                return (due.ready, try store.expire(shard: shard, now: now, limit: Self.batch))
            } then: { [self] due, expiry in
                if shard == last { isRunning = false }
                settled(due, expiry)
            } otherwise: { [self] _ in
                if shard == last { isRunning = false }
            }
        }
    }

    private func settled(_ due: [ReadyCommand], _ expiry: Expiry) {
        let now = MonotonicTime.now
        for event in expiry.cancelled { events.publish(event, now: now) }
        control.requestCancellation(expiry.ownersToNotify)
        dispatch.insert(due, now: now)
    }
}
