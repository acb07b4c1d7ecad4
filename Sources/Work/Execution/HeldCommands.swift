internal import Commands
internal import Host
internal import Operations
internal import Store
internal import Wire

/// The commands in this worker's hands, from the request of their claims to the commit of their ends, and how
/// many slots they take. The only owner of their states (``ExecutionState``). Pure; times are passed in.
///
/// A step that this process's own code cannot make traps. Outcomes of writes and words of the coordinator may
/// come too late, when the command is gone or has another claim: they change nothing.
struct HeldCommands: Sendable {
    private struct Held: Sendable {
        let kind: SlotKind
        let isLow: Bool
        let isSuspect: Bool
        let isSoleSuspect: Bool
        /// The order in which they were taken, to find the youngest; 0 where another coordinator offered it.
        var number: Int64
        var state: ExecutionState
    }

    private typealias Index = Dictionary<CommandID, Held>.Index

    private var commands: [CommandID: Held] = [:]
    private var lastNumber: Int64 = 0
    private(set) var counts = SlotUsage()
    private(set) var queues = ClaimedQueues()
    /// Ended since the worker started.
    private(set) var completed: Int64 = 0
    /// Offers of the present coordinator that were taken and need no attention any more.
    private(set) var resolved: Int64 = 0

    var count: Int { commands.count }

    func contains(_ id: CommandID) -> Bool { commands[id] != nil }

    /// Those whose claim is committed.
    var executions: some Sequence<CommandExecution> { commands.values.lazy.compactMap { $0.state.execution } }

    /// Those that have begun, also where the end waits for its commit.
    var begun: some Sequence<CommandExecution> { commands.values.lazy.compactMap { $0.state.run?.execution } }

    /// A new coordinator has not offered what is held.
    mutating func adopt() {
        resolved = 0
        for id in Array(commands.keys) { commands[id]?.number = 0 }
    }

    // MARK: Claim

    /// Its claim is requested.
    mutating func claim(_ offer: Offers.Offer, now: MonotonicTime) {
        lastNumber += 1
        let kind = SlotKind(offer)
        commands[offer.id] = Held(
            kind: kind, isLow: offer.qos.serviceClass == .low, isSuspect: offer.suspect,
            isSoleSuspect: offer.isSoleSuspect, number: lastNumber, state: .claiming(since: now))
        counts.add(1, .claimed, kind, isSuspect: offer.suspect)
    }

    /// The claim is committed.
    /// - Returns: how long that took.
    mutating func claimed(_ execution: CommandExecution, _ operation: any CommandOperation, now: MonotonicTime)
        -> Duration
    {
        let (index, since) = claiming(execution.id)
        move(index, to: .claimedAhead(execution, operation, since: now))
        queues.append(execution.id, to: queue(index))
        return now - since
    }

    /// The claim is committed, but there is no operation here.
    /// - Returns: the write that gives the command back.
    mutating func claimedWithoutOperation(_ id: CommandID, claim: Int) -> ExecutionWrite {
        move(claiming(id).index, to: .givingBack(claim: claim))
        return .end(id, claim: claim, .released(reason: "no operation here", ambiguous: false))
    }

    /// The claim found nothing to take, or was given up.
    mutating func refused(_ id: CommandID) {
        remove(claiming(id).index)
    }

    private func claiming(_ id: CommandID) -> (index: Index, since: MonotonicTime) {
        guard let index = commands.index(forKey: id) else { fatalError("\(id) is claimed, and no claim was requested") }
        guard case .claiming(let since) = commands.values[index].state else { impossible("claimed", index) }
        return (index, since)
    }

    // MARK: Start

    /// When it was claimed; nil where it does not wait for a slot.
    func claimedSince(_ id: CommandID) -> MonotonicTime? {
        guard case .claimedAhead(_, _, let since)? = commands[id]?.state else { return nil }
        return since
    }

    func kind(of id: CommandID) -> SlotKind? { commands[id]?.kind }

    /// Gives a slot to the first of a queue.
    mutating func startFirst(_ queue: ClaimedQueues.Queue) -> Start? {
        queues.popFirst(queue).map { start($0) }
    }

    /// The first suspect that waits for a slot.
    /// - Parameter isBeside: only one that may run beside other suspects.
    func nextSuspect(isBeside: Bool) -> CommandID? {
        queues.suspects.first { !isBeside || commands[$0]?.isSoleSuspect == false }
    }

    /// Gives a slot to a suspect.
    mutating func startSuspect(_ id: CommandID) -> Start {
        queues.remove(id, from: .suspects)
        return start(id)
    }

    /// A suspect executes that runs alone.
    var executesSoleSuspect: Bool {
        counts.executingSuspects > 0 && commands.values.contains { $0.isSoleSuspect && $0.state.slotUse == .executing }
    }

    private mutating func start(_ id: CommandID) -> Start {
        guard let index = commands.index(forKey: id) else { fatalError("\(id) waits for a slot, and is not held") }
        guard case .claimedAhead(let execution, let operation, _) = commands.values[index].state else {
            impossible("started", index)
        }
        move(index, to: .starting(execution))
        return Start(execution: execution, operation: operation)
    }

    /// Its task exists.
    mutating func started(_ start: Start, task: Task<Void, Never>, logEntry: Int?) {
        guard let index = index(of: start.execution) else {
            fatalError("\(start.execution.id) has a task, and is not held")
        }
        guard case .starting = commands.values[index].state else { impossible("given a task", index) }
        let run = ExecutionState.Run(execution: start.execution, task: task, logEntry: logEntry)
        commands.values[index].state = start.operation.preparesBeforeSending ? .preparing(run) : .executing(run)
    }

    // MARK: Run

    /// Its preparation is over.
    /// - Returns: whether `sent` is to be committed; false where the command is in other hands.
    mutating func commitSent(_ execution: CommandExecution, _ continuation: CheckedContinuation<Bool, Never>) -> Bool {
        guard let index = index(of: execution) else { return false }
        guard case .preparing(let run) = commands.values[index].state else { impossible("sent", index) }
        commands.values[index].state = .committingSent(run, continuation)
        return true
    }

    mutating func sentCommitted(_ id: CommandID, claim: Int)
        -> (execution: CommandExecution, continuation: CheckedContinuation<Bool, Never>)?
    {
        guard let index = index(of: id, claim: claim) else { return nil }
        guard case .committingSent(let run, let continuation) = commands.values[index].state else {
            impossible("committed as sent", index)
        }
        commands.values[index].state = .executing(run)
        return (run.execution, continuation)
    }

    /// A cancellation is requested, so nothing may be sent: the execution ends the command.
    mutating func sentRefused(_ id: CommandID, claim: Int) -> CheckedContinuation<Bool, Never>? {
        guard let index = index(of: id, claim: claim) else { return nil }
        guard case .committingSent(var run, let continuation) = commands.values[index].state else {
            impossible("refused as sent", index)
        }
        if run.stop == nil { run.stop = .cancelled }
        commands.values[index].state = .preparing(run)
        return continuation
    }

    /// - Returns: whether the checkpoint is to be committed; false where the execution has ended or is in
    ///   other hands.
    mutating func saveCheckpoint(_ command: CommandClaim, _ continuation: CheckedContinuation<Bool, Never>) -> Bool {
        guard let index = index(of: command.id, claim: command.claim), commands.values[index].state.isRunning else {
            return false
        }
        commands.values[index].state.run?.checkpoints.append(continuation)
        return true
    }

    mutating func checkpointSaved(_ id: CommandID, claim: Int) -> CheckedContinuation<Bool, Never>? {
        guard let index = index(of: id, claim: claim),
            commands.values[index].state.run?.checkpoints.isEmpty == false
        else { return nil }
        return commands.values[index].state.run?.checkpoints.removeFirst()
    }

    /// Notes that its connection was reset.
    /// - Returns: whether others run for its destination. They show whether the link is the cause.
    mutating func connectionReset(_ execution: CommandExecution, now: MonotonicTime) -> Bool {
        guard let index = index(of: execution) else { return false }
        let run: ExecutionState.Run
        let mayHaveSent: Bool
        switch commands.values[index].state {
        case .preparing(let running): (run, mayHaveSent) = (running, false)
        case .executing(let running): (run, mayHaveSent) = (running, true)
        case .claiming, .givingBack, .claimedAhead, .starting, .committingSent, .connectionReset, .committingEnd:
            impossible("reset", index)
        }
        let beside = commands.values.compactMap { command -> CommandClaim? in
            guard command.state.isRunning, let other = command.state.execution, other.id != execution.id,
                other.command.destination == execution.command.destination
            else { return nil }
            return CommandClaim(id: other.id, claim: other.claim)
        }
        commands.values[index].state = .connectionReset(run, .init(at: now, mayHaveSent: mayHaveSent, beside: beside))
        return !beside.isEmpty
    }

    // MARK: Stop

    /// Tells an execution to stop. The first reason stands.
    /// - Parameter claim: nil where the present one is meant, whatever its claim.
    /// - Returns: nil where there is nothing to stop.
    mutating func stop(_ id: CommandID, claim: Int? = nil, _ reason: StopReason) -> StopAction? {
        guard let index = commands.index(forKey: id), let execution = commands.values[index].state.execution,
            claim == nil || claim == execution.claim
        else { return nil }
        switch commands.values[index].state {
        case .claiming, .givingBack, .committingEnd: return nil
        case .claimedAhead, .starting:
            unqueue(index)
            if reason.isRelease { execution.meter.release(isDrain: reason == .drained) }
            move(index, to: .committingEnd(execution, nil, nil))
            return .write(.end(id, claim: execution.claim, reason.result(ambiguous: false)))
        case .preparing(var run), .committingSent(var run, _), .executing(var run), .connectionReset(var run, _):
            guard run.stop == nil else { return nil }
            if reason.isRelease { execution.meter.release(isDrain: reason == .drained) }
            run.stop = reason
            commands.values[index].state.run = run
            return .cancel(run.task)
        }
    }

    /// The low execution that has run for the shortest time, where it may be preempted; nil where as many as
    /// `maxStopped` are on their way out already.
    func youngestLow(maxStopped: Int) -> CommandID? {
        var stopped = 0
        var youngest: (id: CommandID, number: Int64)?
        for (id, command) in commands where command.isLow && command.state.slotUse == .executing {
            if command.state.run?.stop != nil {
                stopped += 1
            } else if command.state.execution?.command.idempotent == true, command.number >= youngest?.number ?? 0 {
                youngest = (id, command.number)
            }
        }
        return stopped < maxStopped ? youngest?.id : nil
    }

    private mutating func unqueue(_ index: Index) {
        guard case .claimedAhead = commands.values[index].state else { return }
        queues.remove(commands.keys[index], from: queue(index))
    }

    private func queue(_ index: Index) -> ClaimedQueues.Queue {
        ClaimedQueues.queue(of: commands.values[index].kind, isSuspect: commands.values[index].isSuspect)
    }

    // MARK: End

    /// Its operation has returned or failed.
    /// - Parameter lastSuccess: when another execution last succeeded at its destination, if that was within
    ///   a minute.
    /// - Returns: what to write, and its entry in the log of started executions; nil where the command is in
    ///   other hands.
    mutating func ended(
        _ execution: CommandExecution, _ outcome: Result<[UInt8]?, any Error>, lastSuccess: MonotonicTime?
    ) -> (result: ExecutionResult, logEntry: Int?)? {
        guard let index = index(of: execution) else { return nil }
        let run: ExecutionState.Run
        let mayHaveSent: Bool
        var reset: ExecutionState.ConnectionReset?
        switch commands.values[index].state {
        case .preparing(let running): (run, mayHaveSent) = (running, false)
        case .executing(let running): (run, mayHaveSent) = (running, true)
        case .connectionReset(let running, let itsReset):
            (run, mayHaveSent, reset) = (running, itsReset.mayHaveSent, itsReset)
        case .claiming, .givingBack, .claimedAhead, .starting, .committingSent, .committingEnd:
            impossible("ended", index)
        }
        var result = run.result(of: outcome, mayHaveSent: mayHaveSent)
        var failure: CommandFailure?
        if case .failure(let its) = result {
            let othersSucceed = othersSucceed(beside: reset, lastSuccess: lastSuccess)
            let judged = its.judged(at: execution.command.destination, othersSucceed: othersSucceed)
            result = .failure(judged)
            failure = judged.isHeldBack ? nil : judged
        }
        move(index, to: .committingEnd(execution, run, failure))
        return (result, run.logEntry)
    }

    /// A connection that was reset is the command's fault where others at its destination go on or have
    /// succeeded since; and where it was alone there, where one has succeeded within a minute.
    private func othersSucceed(beside reset: ExecutionState.ConnectionReset?, lastSuccess: MonotonicTime?) -> Bool {
        guard let reset, !reset.beside.isEmpty else { return lastSuccess != nil }
        if let lastSuccess, lastSuccess > reset.at { return true }
        return reset.beside.contains { other in
            guard let index = index(of: other.id, claim: other.claim) else { return false }
            switch commands.values[index].state {
            case .preparing(let run), .committingSent(let run, _), .executing(let run): return run.stop == nil
            case .claiming, .givingBack, .claimedAhead, .starting, .connectionReset, .committingEnd: return false
            }
        }
    }

    /// Its end is committed.
    mutating func endCommitted(_ id: CommandID, claim: Int) -> Gone? {
        guard let index = index(of: id, claim: claim) else { return nil }
        switch commands.values[index].state {
        case .givingBack, .committingEnd: return removeCompleted(index)
        case .claiming, .claimedAhead, .starting, .preparing, .committingSent, .executing, .connectionReset:
            impossible("committed as ended", index)
        }
    }

    /// The command is in other hands, or the store cannot take what this execution writes: it reports nothing
    /// more.
    mutating func lost(_ id: CommandID, claim: Int) -> Gone? {
        index(of: id, claim: claim).flatMap { removeCompleted($0) }
    }

    private mutating func removeCompleted(_ index: Index) -> Gone? {
        unqueue(index)
        completed += 1
        let state = remove(index)
        var sent: CheckedContinuation<Bool, Never>?
        if case .committingSent(_, let continuation) = state { sent = continuation }
        var failure: CommandFailure?
        if case .committingEnd(_, _, let its) = state { failure = its }
        return state.execution.map { Gone(execution: $0, run: state.run, failure: failure, sent: sent) }
    }

    @discardableResult
    private mutating func remove(_ index: Index) -> ExecutionState {
        let command = commands.remove(at: index).value
        counts.add(-1, command.state.slotUse, command.kind, isSuspect: command.isSuspect)
        if command.number > 0 { resolved += 1 }
        return command.state
    }

    // MARK: Look-ups and counts

    /// The claim tells executions apart, not the object: an execution with a resolved payload is a copy.
    private func index(of execution: CommandExecution) -> Index? { index(of: execution.id, claim: execution.claim) }

    private func index(of id: CommandID, claim: Int) -> Index? {
        commands.index(forKey: id).flatMap { commands.values[$0].state.claim == claim ? $0 : nil }
    }

    private mutating func move(_ index: Index, to state: ExecutionState) {
        let (kind, isSuspect) = (commands.values[index].kind, commands.values[index].isSuspect)
        counts.add(-1, commands.values[index].state.slotUse, kind, isSuspect: isSuspect)
        counts.add(1, state.slotUse, kind, isSuspect: isSuspect)
        commands.values[index].state = state
    }

    private func impossible(_ step: String, _ index: Index) -> Never {
        fatalError("command \(commands.keys[index]) cannot be \(step) while it is \(commands.values[index].state.name)")
    }
}
