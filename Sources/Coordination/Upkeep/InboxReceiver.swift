internal import Commands
internal import Host
internal import Logging
internal import Metrics
internal import Store

/// Moves the commands that programs have submitted by SQL out of the inbox of the store (``InboxStore``). Confined to the loop.
final class InboxReceiver {
    private let store: StoreAccess
    private let callbacks: LoopCallbacks
    /// Nil: there is no inbox to read.
    private let check: CoordinatorConfiguration.InboxCheck?
    private let dispatch: DispatchRunner
    private let events: EventPublisher
    private let logger: Logger
    private var isRunning = false
    /// A look at the whole inbox follows the one that runs.
    private var isWholeWanted = false

    /// Entries in one call.
    private static let batch = 512

    init(_ environment: CoordinatorEnvironment, dispatch: DispatchRunner, events: EventPublisher) {
        store = environment.store
        callbacks = environment.callbacks
        check = environment.store.store.hasInbox ? environment.configuration.inbox : nil
        logger = environment.logger
        self.dispatch = dispatch
        self.events = events
    }

    /// Looks for recent entries. Does nothing while the last look runs.
    func run() { if !isRunning { start(.recent) } }

    /// Looks at the whole inbox: transactions that were open for long commit entries that are not recent.
    func sweep() { if isRunning { isWholeWanted = true } else { start(.whole) } }

    /// The checks may read files, for which no other write waits: they run on a thread of the pool.
    private func start(_ look: InboxLook) {
        guard let check else { return }
        isRunning = true
        let finish = callbacks.once { [unowned self] (result: Result<InboxRound, StoreError>) in take(result, of: look)
        }
        BlockingPool.shared.perform { [store = store.store, check] in
            finish(
                Result { () throws(StoreError) in
                    try store.moveInbox(look, limit: Self.batch) { entries throws(StoreError) in
                        try check(entries)
                    }
                })
        }
    }

    private func take(_ result: Result<InboxRound, StoreError>, of look: InboxLook) {
        isRunning = false
        var hasMore = false
        switch result {
        case .failure(let error): report(error)
        case .success(let round):
            take(round)
            hasMore = round.hasMore
        }
        guard hasMore || isWholeWanted else { return }
        let next: InboxLook = isWholeWanted ? .whole : look
        isWholeWanted = false
        start(next)
    }

    private func take(_ round: InboxRound) {
        if let problem = round.problem { report(problem) }
        if !round.changed.isEmpty {
            dispatch.dispatcher.changed(round.changed)
            dispatch.lookUp(round.changed)
        }
        events.changed(round.ids + round.changed)
        dispatch.insert(round.ready, now: .now)
        for (type, accepted) in Dictionary(grouping: round.accepted, by: \.self) {
            Counter(label: "sluice.commands.submitted", dimensions: [("type", type), ("source", "sql")])
                .increment(by: accepted.count)
        }
        guard let first = round.refused.first else { return }
        logger.warning(
            "Commands that were submitted by SQL are refused: they are dead letters with their reasons.",
            metadata: ["count": "\(round.refused.count)", "first": "\(first.id)", "reason": "\(first.reason)"])
    }

    private func report(_ error: StoreError) {
        store.report(error, "Commands that were submitted by SQL cannot be taken in")
    }
}
