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
    /// - Parameter shards: that have something due; nil: each is asked.
    func run(in shards: [Int]?) { start(.due, in: shards) }

    /// Looks at the schedules that a missing zone holds or whose clock was set back; at the start and once an hour at all,
    /// because the files of zones may have changed.
    func sweep(now: MonotonicTime) {
        let isAll = lastFullRound.map { now - $0 >= Self.fullRoundInterval } ?? true
        start(isAll ? .all(after: nil) : .held(after: nil))
        if isAll { lastFullRound = now }
    }

    private func start(_ scope: ScheduleScope, in shards: [Int]? = nil) {
        guard !isRunning else {
            if scope != .due, wanted != .all(after: nil) { wanted = scope }
            return
        }
        isRunning = true
        run((shards ?? Array(0..<store.shardCount)).filter { !dispatch.dispatcher.locked.contains($0) }, scope)
    }

    /// The changes that a round has made in a shard, and the type that each schedule submits.
    private typealias Fired = (shard: Int, round: Result<ScheduleRound, StoreError>, types: [String: String])

    /// - Parameter rest: shards that follow, with where each goes on.
    private func run(
        _ shards: [Int], _ scope: ScheduleScope, before rest: [(shard: Int, scope: ScheduleScope)] = []
    ) {
        var rest = rest
        store.write { store, step in
            Self.fire(shards, scope, in: store, step)
        } each: { [self] (fired: Fired) in
            switch fired.round {
            case .failure(let error): store.report(error, "Schedules cannot be fired")
            case .success(let round):
                take(round)
                count(round, fired.types)
                // A round that has changed nothing would find the same schedules again.
                if let next = round.next, scope != .due || !round.changes.isEmpty || !round.problems.isEmpty {
                    rest.append((fired.shard, scope.after(next)))
                }
            }
        } then: { [self] in
            if let next = rest.first {
                run([next.shard], next.scope, before: Array(rest.dropFirst()))
            } else {
                finish()
            }
        }
    }

    /// - Parameter fired: gets what is not empty.
    private static func fire(
        _ shards: [Int], _ scope: ScheduleScope, in store: any CommandStore, _ fired: (Fired) -> Void
    ) {
        var types: [String: String] = [:]
        store.fireSchedules(shards, scope, limit: batch) { schedule, last, now in
            types[schedule.definition.name] = schedule.definition.body.type
            let timing = ScheduleTiming(schedule.definition, in: .system)
            return timing.decision(for: schedule.state, now: now, last: last)
        } each: { shard, result in
            if case .success(let round) = result, round.changes.isEmpty, round.problems.isEmpty, round.next == nil {
                return
            }
            fired((shard, result, types))
        }
    }

    private func finish() {
        isRunning = false
        guard let next = wanted else { return }
        wanted = nil
        start(next)
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
    /// The rest of the scope behind a name. The due ones that were looked at are not due any more.
    fileprivate func after(_ name: String?) -> ScheduleScope {
        switch self {
        case .due, .named: self
        case .held: .held(after: name)
        case .all: .all(after: name)
        }
    }
}
