internal import Commands
internal import Host
internal import Operations
internal import Wire

/// Decides what a worker claims, starts and preempts: its slots, the offers that wait for one, and the
/// commands that it holds. Pure; times are passed in.
///
/// Middle and low quality share ``concurrency`` slots. High quality has as many again, may use free ones of
/// the others, and beyond that preempts the youngest low execution. A command counts towards its slots from
/// the request of its claim until its operation ends. An end that waits for its commit takes no slot, but
/// there is a limit to how many may. An offer for an extra slot starts at once. The coordinator, which sees
/// all workers, decides how many slots a destination gets.
///
/// **Claiming ahead.** A claim is made when the command can start by the time its commit returns. Where
/// operations are short, more slots fall free during a commit than there are slots. So the worker claims in
/// addition twice the completions of a commit's time (a commit lasts until it is delivered, started and
/// ended), at most ``maxAhead``. With sixteen slots and nothing ahead, a commit carries nine commands, and
/// the disk's flushes, not the processor, set the pace. Where operations turn out long after all, a command
/// that was claimed and has not started within ``timeout`` is given back: another worker may start it at
/// once.
struct SlotScheduler: Sendable {
    struct Decision: Sendable {
        var claims: [Offers.Offer] = []
        var starts: [HeldCommands.Start] = []
        var preemptions: [Preemption] = []
    }

    struct Preemption: Sendable {
        let id: CommandID
        let action: HeldCommands.StopAction
    }

    let concurrency: Int
    var held = HeldCommands()
    private var waiting = WaitingOffers()
    private var pauses: [ControlState.Pause] = []
    /// Offers that a pause covers. The end of a pause may arrive after the offers that it permits, because control and
    /// offers take different sockets.
    private var paused: [WaitingOffers.Entry] = []
    /// Without what ``state`` reads from ``held``.
    private var own = WorkerState()
    /// When the last suspect started that no other executed beside.
    private var suspectStart = MonotonicTime.zero
    /// Since when a suspect executes, first alone; nil while none does.
    private var suspectsSince: MonotonicTime?
    /// Until then suspects start beside each other.
    private var trustsUntil = MonotonicTime.zero
    /// Completions a second.
    private var rate = 0.0
    private var measured: (at: MonotonicTime, completed: Int64)?
    /// Seconds from the request of a claim to its commit, smoothed.
    private var commitTime = 0.0

    /// Suspects claimed at a time. One executes; where operations are quick and the log of started executions
    /// tells a claim from a start, the next wait behind it, but no longer than ``maxSuspectTime``: another
    /// worker may start them at once. As many as are offered, so that no commit lies between two of them.
    var maxSuspects = 8
    /// As many as the coordinator offers to a worker.
    private static let maxTrustedSuspects = 8
    private static let maxSuspectTime: Duration = .seconds(1)
    /// Most commands that kill a worker do so at once. When a suspect has run for this time, the others start beside it;
    /// and so do those that arrive shortly after it, because the coordinator offers them again every 2 s.
    static let trialTime: Duration = .seconds(10)
    private static let trustTime: Duration = .seconds(5)

    /// More extra slots than the coordinator offers.
    static let maxExtras = 16
    /// Claims ahead of free slots, at most.
    static let maxAhead = 512
    /// Seconds. Eight processes that share a shard on a slow disk wait 50 ms for their turn. A commit that
    /// lasts longer than this is a disk in trouble, and more claims do not help it.
    static let longestCommit = 0.25
    /// Offers that are not claimed by then are forgotten, and claims that have not started are given back.
    static let timeout: Duration = .seconds(2)

    /// More executions than can have started and wait for the commit of their end: those that run, those that
    /// were claimed ahead, and as many ends again.
    static func maxExecutions(concurrency: Int) -> Int { 8 * (max(concurrency, 1) + maxAhead + maxExtras) }

    init(concurrency: Int) { self.concurrency = max(concurrency, 1) }

    /// Claims made before a slot is free, at the present rate of completions.
    var ahead: Int { min(Int(rate * 2 * min(commitTime, Self.longestCommit)), Self.maxAhead) }
    /// For the coordinator.
    var commitDuration: Duration { .seconds(commitTime) }
    var waitingCount: Int { waiting.count }

    /// Part of every report to the coordinator.
    var state: WorkerState {
        var state = own
        state.resolved += held.resolved
        state.completed = held.completed
        state.executing = executing.all
        state.free = max(min(concurrency, 2 * concurrency - executing.high) - held.counts.held.others, 0)
        state.freeHigh = max(2 * concurrency - executing.others - held.counts.held.high, 0)
        return state
    }

    var isDraining: Bool { own.phase == .draining }

    private var executing: SlotUsage.ByKind { held.counts.executing }

    // MARK: Offers

    /// Takes a frame of offers. Numbers that were skipped are lost and count as resolved. A command that is
    /// held already is not taken twice.
    mutating func offered(_ offers: Offers, coordinator: Int64, now: MonotonicTime) {
        if coordinator != own.coordinator { adopt(coordinator: coordinator) }
        if offers.first > own.seen + 1 { own.resolved += offers.first - own.seen - 1 }
        own.seen = max(own.seen, offers.first + Int64(offers.offers.count) - 1)
        for offer in offers.offers {
            if isDraining {
                own.resolved += 1
            } else if pauses.cover(offer) {
                paused.append(WaitingOffers.Entry(offer: offer, arrived: now))
            } else {
                add(offer, now: now)
            }
        }
    }

    private mutating func add(_ offer: Offers.Offer, now: MonotonicTime) {
        if held.contains(offer.id) || !waiting.insert(offer, now: now) { own.resolved += 1 }
    }

    /// A new coordinator counts its offers from 1, and knows nothing of those of the last one.
    mutating func adopt(coordinator: Int64) {
        forgetAll()
        own.coordinator = coordinator
        own.seen = 0
        own.resolved = 0
        held.adopt()
    }

    /// Another process keeps a shard locked, or has let go of it.
    mutating func setLocked(_ shard: Int, _ isLocked: Bool) {
        if isLocked { own.locked.insert(shard) } else { own.locked.remove(shard) }
    }

    mutating func pause(_ pauses: [ControlState.Pause]) {
        guard pauses != self.pauses else { return }
        self.pauses = pauses
        let entries = paused + waiting.remove { entry in pauses.cover(entry.offer) }
        paused = entries.filter { pauses.cover($0.offer) }
        for entry in entries where !pauses.cover(entry.offer) { add(entry.offer, now: entry.arrived) }
    }

    /// Forgets offers that have waited too long, and measures the rate of completions. Call it 4 times a
    /// second.
    /// - Returns: commands that are claimed and wait behind others that take long, to be given back.
    mutating func tick(now: MonotonicTime) -> [CommandID] {
        let limit = now - Self.timeout
        forget { $0.arrived < limit }
        if let measured, now > measured.at {
            let recent = Double(held.completed - measured.completed) / (now - measured.at).seconds
            rate = recent > rate ? recent : (rate + recent) / 2
        }
        measured = (now, held.completed)
        own.progress += 1
        let suspects = held.queues.suspects.filter { isSuspectLong(now) || isOverdue($0, limit) }
        return suspects
            + (held.queues.high + held.queues.others + held.queues.extras).filter { isOverdue($0, limit) }
    }

    private func isOverdue(_ claimed: CommandID, _ limit: MonotonicTime) -> Bool {
        held.claimedSince(claimed).map { $0 < limit } ?? false
    }

    private func isSuspectLong(_ now: MonotonicTime) -> Bool {
        held.counts.executingSuspects > 0 && suspectStart < now - Self.maxSuspectTime && !trustsSuspects(now)
    }

    private func trustsSuspects(_ now: MonotonicTime) -> Bool { now < trustsUntil }

    private mutating func followSuspects(_ now: MonotonicTime) {
        guard let since = suspectsSince else { return }
        if now - since >= Self.trialTime { trustsUntil = now + Self.trustTime }
        if held.counts.executingSuspects == 0 { suspectsSince = nil }
    }

    /// From now on nothing starts, and offers are forgotten.
    /// - Returns: commands that are claimed and have not started, to be given back.
    mutating func drain() -> [CommandID] {
        own.phase = .draining
        forgetAll()
        let queues = held.queues
        return Array(queues.suspects + queues.high + queues.others + queues.extras)
    }

    mutating func forgetAll() { forget { _ in true } }

    private mutating func forget(where condition: (WaitingOffers.Entry) -> Bool) {
        let before = paused.count
        paused.removeAll(where: condition)
        own.resolved += Int64(before - paused.count + waiting.remove(where: condition).count)
    }

    // MARK: Decisions

    /// The claim was committed. The command starts when ``begin(now:)`` says so.
    mutating func claimed(_ execution: CommandExecution, _ operation: any CommandOperation, now: MonotonicTime) {
        let seconds = held.claimed(execution, operation, now: now).seconds
        commitTime += (seconds - commitTime) / 32
    }

    /// Decides what to claim, start and preempt now.
    mutating func begin(now: MonotonicTime) -> Decision {
        var decision = Decision()
        guard !isDraining else { return decision }
        followSuspects(now)
        startClaimed(&decision, now: now)
        // An end that waits for its commit takes no slot; but where commits fail, nothing more starts.
        while held.counts.ending <= 2 * (concurrency + ahead) {
            guard let offer = takeNext(&decision, now: now) else { break }
            held.claim(offer, now: now)
            decision.claims.append(offer)
        }
        return decision
    }

    private var hasHighSlot: Bool { executing.high < 2 * concurrency - executing.others }
    private var hasSlot: Bool { executing.others < min(concurrency, 2 * concurrency - executing.high) }

    private mutating func startClaimed(_ decision: inout Decision, now: MonotonicTime) {
        // Suspects do not wait behind the commands that were claimed ahead.
        while let id = nextSuspect(now), hasSlot(for: id) {
            let isFirst = held.counts.executingSuspects == 0
            decision.starts.append(held.startSuspect(id))
            guard isFirst else { continue }
            suspectStart = now
            suspectsSince = held.executesSoleSuspect ? nil : now
        }
        while hasHighSlot, let start = held.startFirst(.high) { decision.starts.append(start) }
        while hasSlot, let start = held.startFirst(.others) { decision.starts.append(start) }
        while let start = held.startFirst(.extras) { decision.starts.append(start) }
    }

    /// One suspect at a time, until one has run for ``trialTime``.
    private func nextSuspect(_ now: MonotonicTime) -> CommandID? {
        if held.counts.executingSuspects == 0 { return held.nextSuspect(isBeside: false) }
        guard trustsSuspects(now), !held.executesSoleSuspect else { return nil }
        return held.nextSuspect(isBeside: true)
    }

    private func hasSlot(for suspect: CommandID) -> Bool {
        switch held.kind(of: suspect) {
        case .extra: true
        case .high: hasHighSlot
        case .middle, .low: hasSlot
        case nil: false
        }
    }

    private mutating func takeNext(_ decision: inout Decision, now: MonotonicTime) -> Offers.Offer? {
        if held.counts.held.extras < Self.maxExtras, let offer = take(.extra, now: now) { return offer }
        if held.counts.held.high < 2 * concurrency - executing.others + ahead, let offer = take(.high, now: now) {
            return offer
        }
        preemptForHigh(&decision)
        guard held.counts.held.others < min(concurrency, 2 * concurrency - executing.high) + ahead else { return nil }
        return take(.middle, now: now) ?? take(.low, now: now)
    }

    /// Stops the youngest low execution where every slot is taken and fewer are on their way out than offers
    /// of high quality wait.
    private mutating func preemptForHigh(_ decision: inout Decision) {
        guard !waiting.isEmpty(.high), executing.high + executing.others >= 2 * concurrency,
            let victim = held.youngestLow(maxStopped: waiting.count(.high)),
            let action = held.stop(victim, .preempted)
        else { return }
        // A command that got its slot in this round has not begun: it ends without a start.
        decision.starts.removeAll { $0.execution.id == victim }
        decision.preemptions.append(Preemption(id: victim, action: action))
    }

    /// Suspects that may be claimed.
    private func maxSuspects(_ now: MonotonicTime) -> Int {
        if trustsSuspects(now) { return Self.maxTrustedSuspects }
        return ahead == 0 || isSuspectLong(now) ? 1 : maxSuspects
    }

    /// The first of a kind by order. A suspect that must wait lets others pass.
    private mutating func take(_ kind: SlotKind, now: MonotonicTime) -> Offers.Offer? {
        guard !waiting.isEmpty(kind) else { return nil }
        let next = waiting.first(kind) { queue in
            queue.isSuspect && held.counts.suspects >= maxSuspects(now)
        }
        guard let next else { return nil }
        waiting.removeFirst(next)
        return next
    }
}

extension [ControlState.Pause] {
    fileprivate func cover(_ offer: Offers.Offer) -> Bool {
        contains { $0.covers(group: offer.group, qos: offer.qos) }
    }
}
