internal import Commands
internal import Host
internal import Logging
internal import Metrics
internal import Store

/// Fires schedules: it submits what is due, and moves each schedule on in the same transaction, so that no coordinator
/// fires a time twice. Confined to the loop.
final class ScheduleRunner {
    private let store: StoreAccess
    private let dispatch: DispatchRunner
    private let effects: EffectsReceiver
    private let events: EventPublisher
    private let logger: Logger
    private var isRunning = false
    /// The round that follows this one.
    private var wanted: ScheduleScope?
    private var lastFullRound: MonotonicTime?
    /// Problems that were logged.
    private var told: Set<String> = []

    /// Schedules of a shard in one transaction.
    private static let batch = 500
    private static let maxTold = 100
    private static let fullRoundInterval: Duration = .seconds(3600)

    init(
        _ environment: CoordinatorEnvironment, dispatch: DispatchRunner, effects: EffectsReceiver,
        events: EventPublisher
    ) {
        store = environment.store
        logger = environment.logger
        self.dispatch = dispatch
        self.effects = effects
        self.events = events
    }

    /// Fires what is due in the shards that are not locked. Does nothing while the last round runs.
    func run() { start(.due) }

    /// Looks at the schedules that a missing zone holds or whose clock was set back; at the start and once an hour at all,
    /// because the files of zones may have changed.
    func sweep(now: MonotonicTime) {
        let isAll = lastFullRound.map { now - $0 >= Self.fullRoundInterval } ?? true
        start(isAll ? .all(after: nil) : .held(after: nil))
        if isAll { lastFullRound = now }
    }

    private func start(_ scope: ScheduleScope) {
        guard !isRunning else {
            if scope != .due, wanted != .all(after: nil) { wanted = scope }
            return
        }
        isRunning = true
        let shards = (0..<store.shardCount).filter { !dispatch.dispatcher.locked.contains($0) }
        run(shards[...], scope)
    }

    private func run(_ shards: ArraySlice<Int>, _ scope: ScheduleScope) {
        guard let shard = shards.first else {
            isRunning = false
            guard let next = wanted else { return }
            wanted = nil
            return start(next)
        }
        store.write("Schedules cannot be fired") { round, _ in
            !round.changes.isEmpty
        } _: { store throws(StoreError) in
            var types: [String: String] = [:]
            let round = try store.fireSchedules(shard: shard, scope, limit: Self.batch) { schedule, last, now in
                types[schedule.definition.name] = schedule.definition.body.type
                let timing = ScheduleTiming(schedule.definition, in: .system)
                return timing.decision(for: schedule.state, now: now, last: last)
            }
            return (round, types)
        } then: { [self] round, types in
            take(round)
            count(round, types)
            // A round that has changed nothing would find the same schedules again.
            if let next = round.next, scope != .due || !round.changes.isEmpty || !round.problems.isEmpty {
                run(shards, scope.after(next))
            } else {
                run(shards.dropFirst(), scope.first)
            }
        } otherwise: { [self] _ in
            run(shards.dropFirst(), scope.first)
        }
    }

    private func take(_ round: ScheduleRound) {
        effects.receive(round.effects)
        for change in round.changes {
            events.publish(change)
            if let reason = change.decision.reason {
                logger.warning("The schedule “\(change.name)” is held: \(reason)")
            }
        }
        for problem in round.problems where told.count < Self.maxTold && told.insert(problem).inserted {
            logger.warning("\(problem)")
        }
    }

    /// - Parameter types: of what each schedule submits.
    private func count(_ round: ScheduleRound, _ types: [String: String]) {
        for change in round.changes where !change.ids.isEmpty {
            let labels = [("type", types[change.name] ?? "other"), ("source", "schedule")]
            Counter(label: "sluice.commands.submitted", dimensions: labels).increment(by: change.ids.count)
        }
    }
}

extension ScheduleBody {
    /// The type of the command that is submitted.
    fileprivate var type: String {
        switch self {
        case .command(let value): value["type"]?.string ?? "other"
        case .flow: CommandType.flow
        }
    }
}

extension ScheduleScope {
    /// The scope from its beginning.
    fileprivate var first: ScheduleScope { after(nil) }

    /// The rest of the scope behind a name. The due ones that were looked at are not due any more.
    fileprivate func after(_ name: String?) -> ScheduleScope {
        switch self {
        case .due, .named: self
        case .held: .held(after: name)
        case .all: .all(after: name)
        }
    }
}
