internal import Commands
internal import Host
internal import Store

/// Looks for work that has come due, and hands it to the parts that do it. Confined to the loop.
///
/// A store that answers ``QueueStore/dueWork(_:)`` is asked once for all kinds of work: in each heartbeat, and while nothing is
/// due in each other one, so that an idle store on a server gets two statements a second.
final class DueWorkRunner {
    private let store: StoreAccess
    private let dispatch: DispatchRunner
    private let dueTimes: DueTimes
    private let schedules: ScheduleRunner
    private let inbox: InboxReceiver
    /// False once the store has not answered: then each part looks for itself.
    private var isAnswered = true
    private var isLooking = false
    /// Looks in a row that have found nothing.
    private var emptyLooks = 0
    private var skipsNext = false
    /// When the next work comes due that the last look has found.
    private(set) var nextDue: MonotonicTime?

    /// Empty looks before every other heartbeat is left out: two seconds.
    private static let idleLooks = 8
    private static let maxWait: Duration = .seconds(60)

    init(
        _ environment: CoordinatorEnvironment, dispatch: DispatchRunner, dueTimes: DueTimes, schedules: ScheduleRunner,
        inbox: InboxReceiver
    ) {
        store = environment.store
        self.dispatch = dispatch
        self.dueTimes = dueTimes
        self.schedules = schedules
        self.inbox = inbox
    }

    /// Nothing was due or heard for two seconds, in a store that answers looks.
    var isQuiet: Bool { isAnswered && emptyLooks >= Self.idleLooks }

    /// Commands were submitted or have changed, so that work may come due in each heartbeat.
    func noteActivity() { emptyLooks = 0 }

    /// One look. Call it in each heartbeat.
    /// - Parameter isClockHeld: no deadline has passed, see ``ClockHold``.
    func heartbeat(isClockHeld: Bool) {
        guard isAnswered else { return runEverything(isClockHeld: isClockHeld) }
        if isQuiet {
            skipsNext.toggle()
            if skipsNext { return }
        }
        look(isClockHeld: isClockHeld)
    }

    /// Looks where the next work has come due. Call it in each round of the loop.
    func run(isClockHeld: Bool, now: MonotonicTime) {
        guard let nextDue, nextDue <= now else { return }
        self.nextDue = nil
        look(isClockHeld: isClockHeld)
    }

    private func look(isClockHeld: Bool) {
        let locked = dispatch.dispatcher.locked
        let shards = (0..<store.shardCount).filter { !locked.contains($0) }
        guard !isLooking, !shards.isEmpty else { return }
        isLooking = true
        store.read("Due times cannot be settled", isUrgent: true) { store throws(StoreError) in
            try store.dueWork(shards)
        } then: { [self] work in
            isLooking = false
            guard let work else {
                isAnswered = false
                return runEverything(isClockHeld: isClockHeld)
            }
            take(work, isClockHeld: isClockHeld)
        } otherwise: { [self] _ in
            isLooking = false
        }
    }

    private func take(_ work: DueWork, isClockHeld: Bool) {
        emptyLooks = work.isEmpty ? emptyLooks + 1 : 0
        // A time of day may be thousands of years away.
        nextDue = work.next.map {
            MonotonicTime.now + min(max($0 - store.clock.now(), .milliseconds(1)), Self.maxWait)
        }
        dueTimes.run(work, isClockHeld: isClockHeld)
        if !work.schedules.isEmpty { schedules.run(in: work.schedules) }
        if work.hasInbox { inbox.run() }
    }

    private func runEverything(isClockHeld: Bool) {
        dueTimes.run(nil, isClockHeld: isClockHeld)
        schedules.run(in: nil)
        inbox.run()
    }
}
