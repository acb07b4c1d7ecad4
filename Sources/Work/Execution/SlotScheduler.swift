package import Commands
internal import DequeModule
package import Wire

/// Who may begin: a worker's places, the offers that wait for one, and what is held. Pure; times are passed in.
///
/// Middle and low quality share ``concurrency`` places; high quality has as many again, may use free ones of the
/// others, and beyond that preempts the youngest low. A command takes its place when it is claimed and leaves it when
/// its operation ends; what waits for its last commit holds none, but there is a limit to how many may. What is offered for
/// an extra slot begins at once. Which destination has how many is the coordinator's to decide, with all workers in view.
///
/// **Claiming ahead.** A claim is made when it can begin by the time its commit returns. Where operations are short, more
/// places fall free during a commit than there are places: so twice the completions that a commit lasts are claimed
/// besides (it lasts until it is delivered, begun and ended), at most ``maxAhead``. Sixteen places and nothing ahead
/// leave nine commands to a commit, and the disk's flushes, not the processor, set the pace. Where operations turn out long
/// after all, what was claimed and has not begun within ``timeout`` is given back: elsewhere it may begin at once.
package struct SlotScheduler: Sendable {
    package struct Decision: Sendable, Equatable {
        package var claims: [Offers.Offer] = []
        package var starts: [CommandID] = []
        package var preempts: [CommandID] = []

        package init() {}
    }

    private enum Phase: Sendable { case claiming, claimed, executing, ending }

    private struct Held: Sendable {
        var kind: WaitingOffers.Kind
        var isLow: Bool
        var suspect: Bool
        var phase = Phase.claiming
        var preemptible = false
        var isPreempted = false
        /// The order in which they were taken, to find the youngest; 0 for what another coordinator offered.
        var number: Int64
        /// When its claim was asked for; once it is claimed, when that was.
        var since: Int64
    }

    package let concurrency: Int
    package private(set) var state = WorkerState()
    private var waiting = WaitingOffers()
    private var held: [CommandID: Held] = [:]
    /// Claimed and not begun, in the order of their claims.
    private var claimedHigh: Deque<CommandID> = []
    private var claimedOthers: Deque<CommandID> = []
    private var claimedExtras: Deque<CommandID> = []
    private var claimedSuspects: Deque<CommandID> = []
    private var pauses: [ControlState.Pause] = []
    private var next: Int64 = 0
    private var heldHigh = 0
    private var heldOthers = 0
    private var heldExtras = 0
    private var executingHigh = 0
    private var executingOthers = 0
    private var executingExtras = 0
    private var ending = 0
    private var suspects = 0
    private var executingSuspects = 0
    /// When the last suspect began.
    private var suspectBegan: Int64 = 0
    private var rate = 0.0
    private var measured: (at: Int64, completed: Int64)?
    /// Seconds from asking for a claim to its commit, smoothed.
    private var commitTime = 0.0

    /// Suspects claimed at a time: one executes, and where operations are quick and a claim is known from a begin, the
    /// next wait behind it, but for no longer than ``maxSuspectTime``: elsewhere they may begin at once. As many as are
    /// offered, so that a commit lies between none of them.
    package var maxSuspects = 8
    private static let maxSuspectTime: Int64 = 1_000_000_000

    /// Extra slots: more than the coordinator offers.
    package static let maxExtras = 16
    /// Claims ahead of free places at most.
    package static let maxAhead = 512
    /// A commit that lasts longer is a disk in trouble, and more claims do not help it.
    package static let longestCommit = 0.025
    /// Offers not claimed within 2 s are forgotten, and claims not begun given back.
    package static let timeout: Int64 = 2_000_000_000

    /// More than can have begun and not be committed: what runs, what was claimed ahead, and as many ends again.
    package static func maxExecutions(concurrency: Int) -> Int { 8 * (max(concurrency, 1) + maxAhead + maxExtras) }

    package init(concurrency: Int) {
        self.concurrency = max(concurrency, 1)
        refreshState()
    }

    /// Claims made before a place is free, at the present rate of completions.
    package var ahead: Int { min(Int(rate * 2 * min(commitTime, Self.longestCommit)), Self.maxAhead) }
    package var waitingCount: Int { waiting.count }
    package var heldCount: Int { held.count }

    // MARK: Offers

    /// Takes a frame of offers. Numbers that were skipped are lost and count as resolved; what is held is not taken twice.
    package mutating func offered(_ offers: Offers, coordinator: Int64, now: Int64) {
        if coordinator != state.coordinator { adopt(coordinator: coordinator) }
        if offers.first > state.seen + 1 { state.resolved += offers.first - state.seen - 1 }
        state.seen = max(state.seen, offers.first + Int64(offers.offers.count) - 1)
        for offer in offers.offers {
            let isPaused = pauses.contains { $0.covers(group: offer.group, qos: offer.qos) }
            if state.phase == .draining || isPaused || held[offer.id] != nil || !waiting.insert(offer, now: now) {
                state.resolved += 1
            }
        }
    }

    /// A new coordinator counts its offers from 1, and knows nothing of those of the last.
    package mutating func adopt(coordinator: Int64) {
        forgetAll()
        state.coordinator = coordinator
        state.seen = 0
        state.resolved = 0
        // Ends of what the last coordinator offered are not this one's offers.
        for id in held.keys { held[id]?.number = 0 }
    }

    /// Another process keeps a shard locked, or has let go of it.
    package mutating func setLocked(_ shard: Int, _ isLocked: Bool) {
        if isLocked { state.locked.insert(shard) } else { state.locked.remove(shard) }
    }

    package mutating func pause(_ pauses: [ControlState.Pause]) {
        guard pauses != self.pauses else { return }
        self.pauses = pauses
        forget { waiting in pauses.contains { $0.covers(group: waiting.offer.group, qos: waiting.offer.qos) } }
    }

    /// Forgets offers that have waited too long, and measures the rate of completions. Call it 4 times a second.
    /// - Returns: what is claimed and waits behind others that take long, to be released.
    package mutating func tick(now: Int64) -> [CommandID] {
        forget { now - $0.arrived > Self.timeout }
        if let measured, now > measured.at {
            let recent = Double(state.completed - measured.completed) / (Double(now - measured.at) / 1e9)
            rate = recent > rate ? recent : (rate + recent) / 2
        }
        measured = (now, state.completed)
        state.progress += 1
        refreshState()
        return claimedSuspects.filter { isSuspectLong(now) || isOverdue($0, now) }
            + (claimedHigh + claimedOthers + claimedExtras).filter { isOverdue($0, now) }
    }

    private func isOverdue(_ claimed: CommandID, _ now: Int64) -> Bool {
        held[claimed].map { now - $0.since > Self.timeout } ?? false
    }

    private func isSuspectLong(_ now: Int64) -> Bool {
        executingSuspects > 0 && now - suspectBegan > Self.maxSuspectTime
    }

    /// Nothing new is begun; offers are forgotten. - Returns: what is claimed and has not begun, to be released.
    package mutating func drain() -> [CommandID] {
        state.phase = .draining
        forgetAll()
        defer {
            claimedHigh = []
            claimedOthers = []
            claimedExtras = []
            claimedSuspects = []
        }
        return Array(claimedSuspects) + Array(claimedHigh) + Array(claimedOthers) + Array(claimedExtras)
    }

    package mutating func forgetAll() { forget { _ in true } }

    private mutating func forget(where condition: (WaitingOffers.Waiting) -> Bool) {
        state.resolved += Int64(waiting.remove(where: condition))
    }

    // MARK: The life of an execution

    /// The claim was committed. Begins when ``begin()`` says so.
    package mutating func claimed(_ id: CommandID, preemptible: Bool, now: Int64) {
        guard var one = held[id], one.phase == .claiming else { return }
        commitTime += (Double(now - one.since) / 1e9 - commitTime) / 32
        one.phase = .claimed
        one.since = now
        one.preemptible = preemptible
        held[id] = one
        switch (one.suspect, one.kind) {
        case (true, _): claimedSuspects.append(id)
        case (false, .high): claimedHigh.append(id)
        case (false, .middle), (false, .low): claimedOthers.append(id)
        case (false, .extra): claimedExtras.append(id)
        }
    }

    /// The claim found nothing to take.
    package mutating func refused(_ id: CommandID) { remove(id, completed: false) }

    /// Its operation has ended: the place is free, the commit is still to come.
    package mutating func ended(_ id: CommandID) {
        guard var one = held[id], one.phase != .ending else { return }
        if one.phase == .executing { countExecuting(one, by: -1) }
        if one.phase == .claimed { unclaim(id, one) }
        countHeld(one, by: -1)
        // It has not killed the worker: the next suspect may come.
        if one.suspect { suspects -= 1 }
        one.suspect = false
        one.phase = .ending
        held[id] = one
        ending += 1
    }

    /// Its end is committed, or somebody else has it.
    package mutating func settled(_ id: CommandID) { remove(id, completed: true) }

    private mutating func remove(_ id: CommandID, completed: Bool) {
        guard let one = held.removeValue(forKey: id) else { return }
        switch one.phase {
        case .ending: ending -= 1
        case .executing:
            countExecuting(one, by: -1)
            countHeld(one, by: -1)
        case .claimed:
            unclaim(id, one)
            countHeld(one, by: -1)
        case .claiming: countHeld(one, by: -1)
        }
        if one.suspect { suspects -= 1 }
        if one.number > 0 { state.resolved += 1 }
        if completed { state.completed += 1 }
        refreshState()
    }

    // MARK: Decisions

    /// What to claim, what to begin, and whom to preempt, as things stand.
    package mutating func begin(now: Int64) -> Decision {
        var decision = Decision()
        startClaimed(&decision, now: now)
        guard state.phase == .ready else { return decision }
        // What waits for its last commit holds no place; but where commits fail, nothing more is begun.
        while ending <= 2 * (concurrency + ahead) {
            guard let offer = takeNext(&decision, now: now) else { break }
            decision.claims.append(offer)
        }
        refreshState()
        return decision
    }

    private var hasHighSlot: Bool { executingHigh < 2 * concurrency - executingOthers }
    private var hasSlot: Bool { executingOthers < min(concurrency, 2 * concurrency - executingHigh) }

    private mutating func startClaimed(_ decision: inout Decision, now: Int64) {
        // One suspect at a time; it does not wait behind what was claimed ahead.
        if executingSuspects == 0, let id = claimedSuspects.first, let one = held[id],
            one.kind == .extra || (one.kind == .high ? hasHighSlot : hasSlot)
        {
            claimedSuspects.removeFirst()
            suspectBegan = now
            start(id, &decision)
        }
        while hasHighSlot, let id = claimedHigh.popFirst() { start(id, &decision) }
        while hasSlot, let id = claimedOthers.popFirst() { start(id, &decision) }
        while let id = claimedExtras.popFirst() { start(id, &decision) }
    }

    private mutating func start(_ id: CommandID, _ decision: inout Decision) {
        guard var one = held[id] else { return }
        one.phase = .executing
        held[id] = one
        countExecuting(one, by: 1)
        decision.starts.append(id)
    }

    private mutating func unclaim(_ id: CommandID, _ one: Held) {
        switch (one.suspect, one.kind) {
        case (true, _): claimedSuspects.removeAll { $0 == id }
        case (false, .high): claimedHigh.removeAll { $0 == id }
        case (false, .middle), (false, .low): claimedOthers.removeAll { $0 == id }
        case (false, .extra): claimedExtras.removeAll { $0 == id }
        }
    }

    private mutating func takeNext(_ decision: inout Decision, now: Int64) -> Offers.Offer? {
        if heldExtras < Self.maxExtras, let offer = take(.extra, now: now) { return offer }
        if heldHigh < 2 * concurrency - executingOthers + ahead, let offer = take(.high, now: now) { return offer }
        if !waiting.isEmpty(.high), let victim = youngestLow() {
            held[victim]?.isPreempted = true
            decision.preempts.append(victim)
        }
        guard heldOthers < min(concurrency, 2 * concurrency - executingHigh) + ahead else { return nil }
        return take(.middle, now: now) ?? take(.low, now: now)
    }

    /// The first of a kind by order, passing over suspects behind others.
    private mutating func take(_ kind: WaitingOffers.Kind, now: Int64) -> Offers.Offer? {
        guard !waiting.isEmpty(kind) else { return nil }
        let next = waiting.first(kind) { line in
            line.suspect && suspects >= (ahead == 0 || isSuspectLong(now) ? 1 : maxSuspects)
        }
        guard let next else { return nil }
        waiting.removeFirst(next)
        hold(next, now: now)
        return next
    }

    private func youngestLow() -> CommandID? {
        let preempted = held.values.count { $0.isPreempted && $0.phase == .executing }
        guard executingHigh + executingOthers >= 2 * concurrency, preempted < waiting.count(.high) else { return nil }
        return held.filter {
            $0.value.isLow && $0.value.phase == .executing && $0.value.preemptible && !$0.value.isPreempted
        }
        .max { $0.value.number < $1.value.number }?.key
    }

    private mutating func hold(_ offer: Offers.Offer, now: Int64) {
        next += 1
        let one = Held(
            kind: WaitingOffers.Kind(offer), isLow: offer.qos.serviceClass == .low, suspect: offer.suspect,
            number: next, since: now)
        held[offer.id] = one
        countHeld(one, by: 1)
        if offer.suspect { suspects += 1 }
    }

    private mutating func countHeld(_ one: Held, by step: Int) {
        switch one.kind {
        case .high: heldHigh += step
        case .middle, .low: heldOthers += step
        case .extra: heldExtras += step
        }
    }

    private mutating func countExecuting(_ one: Held, by step: Int) {
        switch one.kind {
        case .high: executingHigh += step
        case .middle, .low: executingOthers += step
        case .extra: executingExtras += step
        }
        if one.suspect { executingSuspects += step }
    }

    private mutating func refreshState() {
        state.executing = executingHigh + executingOthers + executingExtras
        state.free = max(min(concurrency, 2 * concurrency - executingHigh) - heldOthers, 0)
        state.freeHigh = max(2 * concurrency - executingOthers - heldHigh, 0)
    }
}
