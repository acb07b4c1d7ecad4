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

/// Makes commands ready whose `notBefore` has come, cancels those whose deadline has passed, writes the effects that earlier
/// transactions have left, and carries messages between the shards. Confined to the loop.
final class DueTimes {
    private let store: StoreAccess
    private let dispatch: DispatchRunner
    private let effects: EffectsReceiver
    private var isRunning = false

    /// Commands of a shard in one transaction.
    private static let batch = 1000

    init(_ environment: CoordinatorEnvironment, dispatch: DispatchRunner, effects: EffectsReceiver) {
        store = environment.store
        self.dispatch = dispatch
        self.effects = effects
    }

    /// The findings of a round in a shard.
    private enum Step: Sendable {
        case promoted([ReadyCommand])
        case settled(Effects)
        case carried(MessageRound)
        case passed(Set<ReadyKey>)
        case failed(StoreError)
    }

    /// One round over the shards that are not locked. Does nothing while the last one runs.
    /// - Parameters:
    ///   - work: that was found; nil: each shard is asked for each kind.
    ///   - isClockHeld: no deadline has passed, see ``ClockHold``.
    func run(_ work: DueWork?, isClockHeld: Bool) {
        let locked = dispatch.dispatcher.locked
        let shards = Shards(work, all: (0..<store.shardCount).filter { !locked.contains($0) }, isClockHeld)
        guard !isRunning, !shards.isEmpty else { return }
        isRunning = true
        store.write { store, step in
            Self.round(of: shards, except: locked, in: store) { step(($0, $1)) }
        } each: { [self] (found: (Int, Step)) in
            take(found.1, of: found.0)
        } then: { [self] in
            isRunning = false
        }
    }

    /// The shards of a round.
    private struct Shards: Sendable {
        var promotions: [Int]
        var effects: [Int]
        var messages: [Int]
        /// Those whose messages are carried without a look.
        var areMessagesKnown: Bool
        var deadlines: [Int]

        init(_ work: DueWork?, all: [Int], _ isClockHeld: Bool) {
            promotions = work?.promotions ?? all
            effects = work?.effects ?? all
            messages = work?.messages ?? all
            areMessagesKnown = work != nil
            deadlines = isClockHeld ? [] : work?.deadlines ?? all
        }

        var isEmpty: Bool { promotions.isEmpty && effects.isEmpty && messages.isEmpty && deadlines.isEmpty }
    }

    /// - Parameter found: gets what is not empty. A shard that has failed is left out of the rest.
    private static func round(
        of shards: Shards, except locked: Set<Int>, in store: any CommandStore, _ found: (Int, Step) -> Void
    ) {
        var failed: Set<Int> = []
        func usable(_ shards: [Int]) -> [Int] { shards.filter { !failed.contains($0) } }
        func take<Value>(
            _ shard: Int, _ result: Result<Value, StoreError>, isEmpty: (Value) -> Bool, _ step: (Value) -> Step
        ) {
            switch result {
            case .success(let value): if !isEmpty(value) { found(shard, step(value)) }
            case .failure(let error):
                failed.insert(shard)
                found(shard, .failed(error))
            }
        }
        store.promoteDue(shards.promotions, limit: batch) {
            take($0, $1.map(\.ready), isEmpty: \.isEmpty) { .promoted($0) }
        }
        store.settle(usable(shards.effects), limit: batch) {
            take($0, $1, isEmpty: { effects in effects.isEmpty && !effects.hasMore }, { .settled($0) })
        }
        let senders = usable(shards.messages)
        for shard in shards.areMessagesKnown ? senders : store.shardsWithMessages(senders) {
            let round = Result { () throws(StoreError) in try store.carryMessages(from: shard, except: locked) }
            take(shard, round, isEmpty: { _ in false }, { .carried($0) })
        }
        store.passedDeadlines(usable(shards.deadlines), limit: batch) {
            take($0, $1, isEmpty: \.isEmpty) { .passed($0) }
        }
    }

    private func take(_ step: Step, of shard: Int) {
        switch step {
        case .promoted(let commands): dispatch.insert(commands, now: .now)
        case .settled(let made): take(made, of: shard)
        case .carried(let round): take(round, from: shard)
        case .passed(let queues): expire(shard, queues)
        case .failed(let error): store.report(error, "Due times cannot be settled")
        }
    }

    private func take(_ made: Effects, of shard: Int) {
        effects.receive(made)
        if made.hasMore { settle(shard) }
    }

    /// Cancels the commands whose deadline has passed, with what held them back.
    private func expire(_ shard: Int, _ queues: Set<ReadyKey>) {
        var causes: [ReadyKey: String] = [:]
        for key in queues { causes[key] = dispatch.dispatcher.cause(ofWait: key, now: .now) }
        store.write("Deadlines cannot be settled") { effects in
            !effects.isEmpty
        } _: { [causes] store throws(StoreError) in
            try store.expire(shard: shard, limit: Self.batch, causes: causes).effects
        } then: { [self] made in
            take(made, of: shard)
        }
    }

    /// Carries on page by page, so that other writes come in between.
    private func carryMessages(from shard: Int) {
        let locked = dispatch.dispatcher.locked
        store.write("Messages between shards cannot be carried over") { round in
            !round.effects.isEmpty
        } _: { store throws(StoreError) in
            try store.carryMessages(from: shard, except: locked)
        } then: { [self] round in
            take(round, from: shard)
        }
    }

    private func take(_ round: MessageRound, from shard: Int) {
        effects.receive(round.effects)
        if let problem = round.problem { store.report(problem, "Messages between shards cannot be carried over") }
        if round.hasMore { carryMessages(from: shard) }
    }

    /// Writes what is left step by step, so that other writes of the shard come in between.
    private func settle(_ shard: Int) {
        store.write("Effects on dependent commands cannot be written") { effects in
            !effects.isEmpty
        } _: { store throws(StoreError) in
            try store.settle(shard: shard, limit: Self.batch)
        } then: { [self] made in
            take(made, of: shard)
        }
    }
}
