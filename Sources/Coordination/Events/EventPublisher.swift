internal import Commands
internal import Host
internal import Metrics
internal import NetworkControl
internal import Store
internal import Wire
internal import ZeroMQ

/// Tells monitors what happens. Transitions that no worker reported are read from the store. Confined to the
/// loop.
final class EventPublisher {
    var hub: EventHub
    private var sequencer: EventSequencer
    let store: StoreAccess
    var flows = FlowChanges()
    /// Shards in which producers or people wrote transitions.
    private var dirtyShards: Set<Int> = []
    /// Of each seat, for new subscribers.
    private var lastTransfers: [Int: [LinkKey: TransferReport.Link]] = [:]
    private let transitions = TransitionMeter()
    /// Links of snapshots that are not published yet, and whether counts follow.
    private var snapshots: [(links: ArraySlice<LinkKey>, hasCounts: Bool)] = []

    /// The counts that were read last, and how often they were published.
    private var lastCounts: (counts: CommandCounts, uses: Int)?

    private static let quietReads = 5
    /// Transitions that one read returns at most.
    private static let batch = 1000
    /// Links of a snapshot that one round tells. The reports of 20,000 took longer than the loop may be silent.
    private static let linksPerRound = 256

    /// - Parameter newest: of each shard, the newest transition in the store.
    init(socket: consuming Socket, _ environment: CoordinatorEnvironment, newest: [Int64]) {
        hub = EventHub(socket: socket, logger: environment.logger)
        sequencer = EventSequencer(newest: newest)
        store = environment.store
    }

    // MARK: Transitions

    func publish(_ event: StatusEvent, now: MonotonicTime) {
        transitions.count(event)
        if hub.wantsFlows { flows.add(event) }
        guard hub.wantsStatuses else {
            // A process that waits for one command needs no order among others.
            if hub.watched.contains(event.transition.id) { hub.status(event) }
            return
        }
        sequencer.add(event, now: now) { hub.status($0) }
    }

    /// A producer or a person wrote transitions of these commands.
    func changed(_ ids: some Sequence<CommandID>) {
        for id in ids { dirtyShards.insert(id.shard(of: store.shardCount)) }
        if hub.wantsFlows { flows.addChanges(in: ids.map { $0.shard(of: store.shardCount) }) }
        if !hub.watched.isEmpty, !hub.wantsStatuses { publishStatuses(of: ids.filter { hub.watched.contains($0) }) }
    }

    /// Reads what workers have not reported: gaps, and what producers and people wrote.
    func run(now: MonotonicTime) {
        publishFlows(now: now)
        guard hub.wantsStatuses else {
            dirtyShards = []
            return
        }
        for (shard, after) in sequencer.reads(now: now, dirty: dirtyShards) {
            dirtyShards.remove(shard)
            store.read("Transitions cannot be read") { store throws(StoreError) in
                try store.events(shard: shard, after: after, limit: Self.batch)
            } then: { [self] page in
                let now = MonotonicTime.now
                let gap = sequencer.fill(shard: shard, after: after, page, now: now) { hub.status($0) }
                if let gap { hub.gap(shard: shard, gap) }
                if page.events.count == Self.batch { dirtyShards.insert(shard) }
            } otherwise: { [self] _ in
                sequencer.readFailed(shard: shard, now: .now)
            }
        }
    }

    /// When the oldest gap has to be read, or a snapshot goes on.
    var nextDue: MonotonicTime? {
        if !snapshots.isEmpty { return .zero }
        return [hub.wantsStatuses ? sequencer.deadline : nil, hub.wantsFlows ? flows.nextDue : nil].compactMap(\.self)
            .min()
    }

    // MARK: Schedules

    func publish(_ change: ScheduleRound.Change) {
        let topic = "schedule/\(change.name)"
        guard hub.wants(topic) else { return }
        let decision = change.decision
        hub.schedule(
            topic,
            JSONValue.object([
                .init("schedule", .string(change.name)),
                .init("fired", .array(decision.fires.map { .string($0.nominal.description) })),
                .init("ids", .array(change.ids.map { .string($0.description) })),
                .init("skipped", .integer(Int64(decision.skipped))),
                .init("next", decision.next.map { .string($0.description) } ?? .null),
                .init("reason", decision.reason.map { .string($0) } ?? .null),
                .init("at", .string(store.clock.now().description)),
            ]).text)
    }

    // MARK: Counts

    /// Call it once a second.
    /// - Parameter isQuiet: nothing was heard or found for some seconds; then counts are read each fifth time.
    func publishCounts(isQuiet: Bool) {
        // Finds what producers wrote without a hint.
        if hub.wantsStatuses { dirtyShards.formUnion(0..<store.shardCount) }
        if hub.wantsFlows { flows.addChanges(in: 0..<store.shardCount) }
        guard hub.wantsCounts else { return }
        if isQuiet, let last = lastCounts, last.uses < Self.quietReads {
            lastCounts?.uses += 1
            return hub.counts(last.counts, at: store.clock.now())
        }
        store.read(nil) { store throws(StoreError) in
            try store.counts()
        } then: { [self] counts in
            lastCounts = (counts, 1)
            hub.counts(counts, at: store.clock.now())
        }
    }

    // MARK: Measurements

    /// - Parameter reports: makes the bodies of the events; called where a monitor wants them.
    func publishMetrics(_ reports: () -> [String]) {
        let topic = "\(Published.metrics)coordinator"
        guard hub.wants(topic) else { return }
        for body in reports() { hub.published(Published(topic: topic, body: body)) }
    }

    // MARK: Transfers

    func publish(_ transfers: TransferReport, from seat: Int) {
        for link in transfers.links where link.allBytes > 0 {
            lastTransfers[seat, default: [:]][LinkKey(link.destination, link.direction)] = link
        }
        hub.transfers(transfers, worker: seat, at: store.clock.now())
    }

    func forgetTransfers(of seat: Int) { lastTransfers[seat] = nil }

    func forgetTransfers(on key: LinkKey) { for seat in lastTransfers.keys { lastTransfers[seat]?[key] = nil } }

    // MARK: Snapshots

    /// Tells processes that wait for commands how these stand, as snapshots: a command may have ended before the
    /// subscription stood.
    func publishStatuses(of ids: [CommandID]) {
        guard !ids.isEmpty else { return }
        let shardCount = store.shardCount
        store.read("The statuses of commands cannot be read", isUrgent: true) { store throws(StoreError) in
            var events: [StatusEvent] = []
            for id in ids {
                guard let command = try store.command(id) else { continue }
                events.append(command.event(shard: id.shard(of: shardCount)))
            }
            return events
        } then: { [self] events in
            for event in events { hub.status(event, snapshot: true) }
        }
    }

    /// Tells new subscribers what there is of the topics that they want.
    /// - Parameters:
    ///   - workers: all that are registered.
    ///   - links: the wanted links. ``continueSnapshots(_:)`` publishes their reports.
    ///   - isFirst: no monitor had subscribed to statuses before.
    func publishSnapshot(
        for new: EventHub.NewSubscriptions, workers: some Sequence<WorkerRecord>,
        links: (LinkTopics) -> [LinkKey], isFirst: Bool
    ) {
        let at = store.clock.now()
        for record in workers.sorted(by: { $0.seat < $1.seat }) where new.want("worker/\(record.seat) ") {
            hub.worker(record, state: record.phaseName, at: at, snapshot: true)
        }
        let linkTopics = new.linkTopics
        if !linkTopics.isEmpty { snapshots.append((links(linkTopics)[...], false)) }
        if new.want("bandwidth/") {
            for (seat, links) in lastTransfers {
                for link in links.values where new.want("bandwidth/\(link.destination.text) ") {
                    hub.bandwidth(link, worker: seat, at: at)
                }
            }
        }
        if new.want("counts") { publishCountsSnapshot() }
        guard new.want("status/") else { return }
        store.read("A snapshot cannot be read") { store throws(StoreError) in
            (try store.claimed(), try store.lastTransitions().map { $0 ?? 0 })
        } then: { [self] claimed, newest in
            for (shard, rows) in claimed.enumerated() {
                for row in rows { hub.status(row.event(shard: shard), snapshot: true) }
            }
            if isFirst { sequencer = EventSequencer(newest: newest) }
        }
    }

    /// Tells new monitors of some more links, and behind the last one of the counts. Call it in each round.
    /// - Parameter report: the report of a link with its history; nil where it is gone.
    func continueSnapshots(_ report: (LinkKey) -> LinkReport?) {
        guard let first = snapshots.first else { return }
        let at = store.clock.now()
        for link in first.links.prefix(Self.linksPerRound).compactMap(report) { hub.link(link, at: at, snapshot: true) }
        snapshots[0].links = first.links.dropFirst(Self.linksPerRound)
        guard snapshots[0].links.isEmpty else { return }
        snapshots.removeFirst()
        if first.hasCounts { publishCountsSnapshot() }
    }

    /// A monitor takes the counts of a snapshot for the end of its links. Every monitor receives them, so they come behind the
    /// links of all subscriptions so far.
    private func publishCountsSnapshot() {
        if deferCounts() { return }
        store.read("A snapshot cannot be read") { store throws(StoreError) in
            try store.counts()
        } then: { [self] counts in
            if !deferCounts() { hub.counts(counts, at: store.clock.now(), snapshot: true) }
        }
    }

    /// - Returns: whether links are still to be published, behind which the counts come.
    private func deferCounts() -> Bool {
        guard !snapshots.isEmpty else { return false }
        snapshots[snapshots.count - 1].hasCounts = true
        return true
    }
}

extension Command {
    /// As an event of a snapshot, with the number 0.
    fileprivate func event(shard: Int) -> StatusEvent {
        var transition = Transition(seq: 0, id: id, status: status, at: updatedAt, claim: claim, reason: reason)
        transition.seat = seat
        return StatusEvent(
            transition: transition, type: type, qos: qos, destination: destination, retries: retries, shard: shard)
    }
}

extension ClaimedCommand {
    /// As an event of a snapshot, with the number 0: the transition's own number is not known any more.
    fileprivate func event(shard: Int) -> StatusEvent {
        var transition = Transition(seq: 0, id: id, status: status, at: updatedAt, claim: claim)
        transition.seat = seat
        return StatusEvent(
            transition: transition, type: type, qos: qos, destination: destination, retries: retries, shard: shard)
    }
}

/// The progress of flows.
extension EventPublisher {
    /// Reads the flows that may have changed, on the reader's thread, and publishes those that have.
    func publishFlows(now: MonotonicTime) {
        guard hub.wantsFlows else { return }
        let round = flows.round(
            now: now, shardCount: store.shardCount, wantsAll: hub.wantsAllFlows, watched: hub.watchedFlows)
        guard let round else { return }
        store.read("Flows cannot be read") { store throws(StoreError) in
            var found: [FlowState] = []
            for shard in round.shards {
                // A shard that cannot be read hides no other.
                do throws(StoreError) {
                    found += try store.openFlows(shard: shard, limit: FlowChanges.maxRead)
                } catch {
                    guard error.code.makesShardUnusable else { throw error }
                }
            }
            let ids = Set(found.map(\.command.id))
            for id in round.flows where !ids.contains(id) {
                if let flow = try store.flow(id) { found.append(flow) }
            }
            return found
        } then: { [self] found in
            let at = store.clock.now()
            for (flow, isSnapshot) in flows.take(found, of: round, now: .now) {
                hub.flow(flow, at: at, snapshot: isSnapshot)
            }
        } otherwise: { [self] _ in
            flows.readFailed(round, now: .now)
        }
    }

    /// Tells new subscribers how the flows stand that they want.
    func publishFlows(to new: EventHub.NewSubscriptions, now: MonotonicTime) {
        guard hub.wantsFlows else { return flows.reset() }
        guard new.hasAllFlows || !new.flows.isEmpty else { return }
        flows.subscribe(allIn: 0..<(new.hasAllFlows ? store.shardCount : 0), flows: new.flows)
        publishFlows(now: now)
    }
}

/// Counts the transitions that workers and the coordinator have made, by status and quality of service.
struct TransitionMeter {
    /// By raw values; there are few statuses, and each transition is counted.
    private let counters: [[Counter]]

    init() {
        let last = CommandStatus.allCases.map(\.rawValue).max() ?? 0
        counters = (0...last).map { value in
            guard let status = CommandStatus(rawValue: value) else { return [] }
            return QualityOfService.allCases.map { qos in
                Counter(label: "sluice.transitions", dimensions: [("status", status.name), ("qos", qos.name)])
            }
        }
    }

    func count(_ event: StatusEvent) { counters[event.transition.status.rawValue][event.qos.rawValue].increment() }
}
