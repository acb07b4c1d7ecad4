internal import Commands
internal import Console
internal import Host
internal import Membership
internal import NetworkControl
internal import Queue
internal import Synchronization

/// Reads the store and joins it with the events of the coordinator. Used on one thread, because it blocks.
final class LiveReader {
    /// The part that the feed of events writes.
    final class Events: Sendable {
        private struct State {
            /// Of the last event of counts.
            var counts: [JSONValue.Member] = []
            var hasChanged = true
        }

        let collector = WatchCollector()
        private let state = Mutex(State())
        /// In nanoseconds of ``MonotonicTime``; 0 before the first event.
        private let heard = Atomic<Int64>(0)

        func take(_ frame: UnsafeRawBufferPointer) {
            heard.store(MonotonicTime.now.nanoseconds, ordering: .relaxed)
            noteChange(frame)
            collector.take(frame)
        }

        /// Whether an event since the last call tells of a change. The coordinator sends counts each second, also where they
        /// are the same.
        func takeChange() -> Bool {
            state.withLock { state in
                defer { state.hasChanged = false }
                return state.hasChanged
            }
        }

        private func noteChange(_ frame: UnsafeRawBufferPointer) {
            guard frame.first == UInt8(ascii: "c"), let event = SluiceEvent(frame: Array(frame)), event.kind == "counts"
            else { return state.withLock { $0.hasChanged = true } }
            let counts = (event.body.members ?? []).filter { $0.name != "at" && $0.name != "snapshot" }
            state.withLock { state in
                if state.counts != counts { state.hasChanged = true }
                state.counts = counts
            }
        }

        /// The time since the last event; nil before the first.
        func silence(at now: MonotonicTime) -> Duration? {
            let heard = heard.load(ordering: .relaxed)
            return heard > 0 ? max(now - MonotonicTime(nanoseconds: heard), .zero) : nil
        }
    }

    /// A coordinator sends counts each second.
    private static let maxSilence: Duration = .seconds(3)
    /// Failed commands of each status that are read at the start.
    private static let maxFailuresBefore = 1000

    private let queue: QueueAccess
    private let events: Events
    private(set) var snapshot: LiveSnapshot
    /// Whether more transitions than ``LogPacer/busy`` were committed in the last second.
    private(set) var isBusy = false
    private var links = LiveLinks()
    private var descriptions = RunningDescriptions()
    private var sampler = TransitionSampler()
    private var histories = LinkHistories()
    private var succeededCount: Int?
    /// Sums of the present interval; nil: nothing was read in it.
    private var sums: (succeeded: Double, failed: Double)?
    private var intervalEnd: Timestamp?

    init(_ queue: QueueAccess, _ events: Events) {
        self.queue = queue
        self.events = events
        snapshot = LiveSnapshot(asOf: queue.now)
    }

    /// Whether the events tell what happens.
    private var hearsCoordinator: Bool { events.silence(at: .now).map { $0 < Self.maxSilence } ?? false }

    /// Whether the store may differ from the last reading, by the events of the coordinator. Settings change without one.
    func mayHaveChanged() -> Bool { events.takeChange() || !hearsCoordinator || !snapshot.warnings.isEmpty }

    private func noteEvents(_ now: Timestamp) {
        let silence = events.silence(at: .now)
        snapshot.hearsCoordinator = hearsCoordinator
        if let silence { snapshot.heardAt = now + (.zero - silence) }
        if snapshot.hearsCoordinator { snapshot.asOf = now }
    }

    /// Takes in a second in which nothing has happened.
    func passIdle() {
        let now = queue.now
        noteEvents(now)
        endInterval(now)
        _ = events.collector.second()
        isBusy = false
        if snapshot.rates != nil { snapshot.rates = LiveRates(succeeded: 0, failed: 0, bytes: 0) }
        sums = (sums?.succeeded ?? 0, sums?.failed ?? 0)
        histories.note(snapshot.links.shown, isHeard: snapshot.hearsCoordinator, now: now)
        snapshot.linkHistory = histories.links
    }

    /// A part that cannot be read stays as it was, and ``LiveSnapshot/warnings`` say why.
    func read() {
        let now = queue.now
        noteEvents(now)
        let coordinator = queue.coordinator
        snapshot.coordinatorPID = coordinator?.pid
        endInterval(now)
        do {
            snapshot.links = try links.overview(
                queue, events.collector, limit: LiveSnapshot.maxLinks, isLive: coordinator != nil)
            let rates = events.collector.second()
            try readStore(bytes: rates.bytes)
            let waiting = snapshot.counts[.new] + snapshot.counts[.error]
            snapshot.waiting =
                waiting == 0
                ? [] : try queue.waitCauses(links: snapshot.links.shown, workers: snapshot.workers, now: now)
            snapshot.asOf = now
            snapshot.warnings = queue.problems.map(\.message)
        } catch {
            snapshot.rates = nil
            snapshot.warnings = [SluiceError(error).message]
        }
        histories.note(snapshot.links.shown, isHeard: snapshot.hearsCoordinator, now: now)
        snapshot.linkHistory = histories.links
    }

    private func readStore(bytes: Int64) throws {
        snapshot.counts = try queue.counts()
        snapshot.workers = try queue.workers(events.collector, &descriptions)
        snapshot.pauses = try queue.pauses().map(\.sentence)
        snapshot.relations = try queue.relations()
        snapshot.uploads = try queue.uploads(.open, limit: LiveSnapshot.maxUploads).uploads
        let sample = try sampler.sample(queue)
        isBusy = Double(sample?.count ?? 0) > LogPacer.busy
        let succeeded = snapshot.counts[.success]
        defer { succeededCount = succeeded }
        guard let sample else {
            snapshot.rates = nil
            snapshot.failures = try failuresBefore()
            return
        }
        for problem in sample.problems {
            snapshot.problems.add(problem)
            snapshot.failures.add(problem)
        }
        // A prune lowers the counts; then the sample is right.
        let counted = succeededCount.map { Double(max(succeeded - $0, 0)) } ?? 0
        let rates = LiveRates(
            succeeded: max(counted, sample.succeeded), failed: sample.failed, bytes: Double(bytes))
        snapshot.rates = rates
        sums = ((sums?.succeeded ?? 0) + rates.succeeded, (sums?.failed ?? 0) + rates.failed)
    }

    /// The failures that the store still has: a door that was restarted shows them too.
    private func failuresBefore() throws -> FailureGroups {
        var failures: [(problem: WatchState.Problem, isComplete: Bool)] = []
        for status in [CommandStatus.error, .inDoubt, .tooManyTimes] where snapshot.counts[status] > 0 {
            let page = try queue.page(
                CommandFilter(status: status), order: .newestFirst, limit: Self.maxFailuresBefore,
                within: .milliseconds(250))
            for command in page.commands {
                let problem = WatchState.Problem(
                    at: command.updatedAt.description, id: command.id.description, status: status.name,
                    reason: command.reason ?? "")
                failures.append((problem, page.next == nil))
            }
        }
        var groups = FailureGroups()
        for failure in failures.sorted(by: { $0.problem.at < $1.problem.at }) {
            groups.add(failure.problem, isComplete: failure.isComplete)
        }
        return groups
    }

    private func endInterval(_ now: Timestamp) {
        let next = snapshot.succeeded.end(after: now)
        guard let end = intervalEnd else {
            intervalEnd = next
            return
        }
        guard now >= end || next < end else { return }
        snapshot.succeeded.append(sums?.succeeded, endingAt: end)
        snapshot.failed.append(sums?.failed, endingAt: end)
        histories.endInterval(snapshot.links.shown, isHeard: snapshot.hearsCoordinator, at: end)
        sums = nil
        intervalEnd = next
    }
}
