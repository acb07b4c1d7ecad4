internal import Commands
internal import Host
internal import NetworkControl
internal import Store
internal import Wire

/// Runs the ``Dispatcher``: reads ready commands from the store into it, and sends its offers to workers.
/// Confined to the loop.
final class DispatchRunner {
    var dispatcher: Dispatcher
    private let store: StoreAccess
    private var isNeeded = false

    /// Commands that are due but find no slot wait for the end of another, which wakes the loop. This is the
    /// backstop.
    private static let retryInterval: Duration = .milliseconds(10)

    init(_ environment: CoordinatorEnvironment) {
        store = environment.store
        let (configuration, seed) = (environment.configuration, UInt64(bitPattern: environment.epoch))
        dispatcher = Dispatcher(
            shardCount: store.shardCount, window: configuration.window,
            links: LinkAdmission(policy: configuration.network, seed: seed), seed: seed &+ 1)
        dispatcher.rates = RateLimits(boot: ProcessIdentity.bootID)
    }

    // MARK: By the clock

    /// Dispatch in this round: there is something new, or a slot is free.
    func setNeeded() { isNeeded = true }

    /// Offers what can be offered.
    /// - Parameters:
    ///   - control: published before the offers where the network decided something urgent, so that
    ///     low-priority transfers yield before the urgent one sends its first byte.
    ///   - workers: sends the offers.
    func run(now: MonotonicTime, control: ControlPublisher, workers: WorkerRegistry) {
        if dispatcher.nextDue(now: now).map({ $0 <= now }) ?? false { isNeeded = true }
        guard isNeeded else { return }
        isNeeded = false
        refill()
        let dispatches = dispatcher.dispatch(at: store.clock.now(), now: now)
        lookUp(dispatcher.takeWanted())
        readTargets(of: dispatcher.links.takeUnreadTargets())
        if dispatcher.links.takeUrgent() { control.publish() }
        for dispatch in dispatches { workers.send(dispatch) }
        // A queue that the dispatch has emptied is refilled now, not at the next report.
        refill()
    }

    func nextDue(now: MonotonicTime) -> MonotonicTime? {
        dispatcher.nextDue(now: now).map { max($0, now + Self.retryInterval) }
    }

    /// Withdraws unclaimed offers and ends old probes; call it 4 times a second.
    /// - Parameter awake: the coordinator's own waking time since the last call.
    func expire(awake: Duration, now: MonotonicTime) {
        dispatcher.advance(awake: awake)
        lookUp(dispatcher.withdrawUnclaimed(now: now))
        dispatcher.expireProbes(now: now)
        // Windows grow and waits end without a message.
        setNeeded()
    }

    func setFrozen(_ isFrozen: Bool, seat: Int) {
        dispatcher.setFrozen(isFrozen, seat: seat)
        setNeeded()
    }

    // MARK: Ready commands

    func insert(_ commands: [ReadyCommand], now: MonotonicTime) {
        guard !commands.isEmpty else { return }
        dispatcher.insert(commands, now: now)
        setNeeded()
    }

    /// Asks the store which of these are ready, and inserts them.
    func lookUp(_ ids: [CommandID]) {
        guard !ids.isEmpty else { return }
        store.read { store, step in
            store.ready(ids: ids) { step(($0, $1)) }
        } each: { [self] (step: ([CommandID], Result<[ReadyCommand], StoreError>)) in
            switch step.1 {
            case .failure(let error): store.report(error, "Commands cannot be looked up")
            case .success(let commands):
                if commands.count < step.0.count {
                    let found = Set(commands.map(\.id))
                    dispatcher.notReady(step.0.filter { !found.contains($0) }, now: .now)
                }
                insert(commands, now: .now)
            }
        }
    }

    /// Reads which URLs commands ask for, so that one for another URL is the next probe.
    private func readTargets(of ids: [CommandID]) {
        guard !ids.isEmpty else { return }
        store.read("Payloads of commands cannot be read") { store throws(StoreError) in
            try ids.map { id throws(StoreError) in
                (id, try store.payload(id).flatMap { CommandTarget(payload: $0) })
            }
        } then: { [self] found in
            dispatcher.links.learn(Dictionary(found) { first, _ in first })
            setNeeded()
        }
    }

    private func refill() {
        let refills = dispatcher.refills()
        guard !refills.isEmpty else { return }
        store.read { store, step in
            store.ready(refills) { step(($0, $1)) }
        } each: { [self] (step: (ReadyRead, Result<[ReadyCommand], StoreError>)) in
            switch step.1 {
            case .success(let commands):
                dispatcher.refilled(step.0, commands, now: .now)
                setNeeded()
            case .failure(let error):
                dispatcher.refillFailed(step.0)
                store.report(error, "Ready commands cannot be read")
            }
        }
    }
}
