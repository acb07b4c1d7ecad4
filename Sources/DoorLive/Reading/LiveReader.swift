internal import Commands
internal import Console
internal import Host
internal import Membership
internal import NetworkControl
internal import Queue
internal import Synchronization

/// Reads the store once a second and joins it with the events of the coordinator. Used on one thread, because it
/// blocks.
final class LiveReader {
    /// The part that the feed of events writes.
    final class Events: Sendable {
        let collector = WatchCollector()
        /// In nanoseconds of ``MonotonicTime``; 0 before the first event.
        private let heard = Atomic<Int64>(0)

        func take(_ frame: UnsafeRawBufferPointer) {
            heard.store(MonotonicTime.now.nanoseconds, ordering: .relaxed)
            collector.take(frame)
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

    /// A part that cannot be read stays as it was, and ``LiveSnapshot/warnings`` say why.
    func read() {
        let now = queue.now
        let silence = events.silence(at: .now)
        snapshot.hearsCoordinator = silence.map { $0 < Self.maxSilence } ?? false
        if let silence { snapshot.heardAt = now + (.zero - silence) }
        if snapshot.hearsCoordinator { snapshot.asOf = now }
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
