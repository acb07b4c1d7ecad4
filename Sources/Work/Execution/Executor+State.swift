internal import Commands
internal import Host
internal import Membership
internal import Operations
internal import Store

/// Changes that the loop, the tasks and the committers share.
extension Executor.State {
    /// How long a success speaks for its destination.
    static let successMemory: Duration = .seconds(60)

    /// Tells an execution to stop, if it is the one with this claim.
    mutating func stop(_ id: CommandID, claim: Int? = nil, _ reason: StopReason) {
        if let action = slots.held.stop(id, claim: claim, reason) { perform(action) }
    }

    mutating func perform(_ action: HeldCommands.StopAction) {
        switch action {
        case .cancel(let task): cancellations.append(task)
        case .write(let write): writes.append(write)
        }
    }

    mutating func stopAll(where isMeant: (Command) -> Bool) {
        for execution in Array(slots.held.executions) where isMeant(execution.command) { stop(execution.id, .drained) }
    }

    /// From now on nothing starts; gives back what was claimed and has not started.
    mutating func releaseUnstarted() {
        for id in slots.drain() { stop(id, .drained) }
    }

    /// The operation has returned or failed.
    mutating func end(_ execution: CommandExecution, _ outcome: Result<[UInt8]?, any Error>) {
        let destination = execution.command.destination
        var lastSuccess: MonotonicTime?
        if case .failure = outcome { lastSuccess = successes[destination] }
        guard let ended = slots.held.ended(execution, outcome, lastSuccess: lastSuccess) else { return }
        if case .success = ended.result, destination != .none { successes[destination] = .now }
        if let entry = ended.logEntry { intentLog?.end(entry) }
        writes.append(.end(execution.id, claim: execution.claim, ended.result))
    }

    /// - Returns: its entry in the log of started executions; nil where there is no log.
    mutating func logStart(of id: CommandID) -> Int? {
        guard let log = intentLog else { return nil }
        if let entry = log.begin(id) { return entry }
        log.remove()
        intentLog = nil
        // From now on a claim counts as a start.
        slots.maxSuspects = 1
        return nil
    }

    mutating func applyPaces() {
        for execution in slots.held.executions {
            execution.pace.set(paces.rate(of: execution.command, execution.meter.reading.direction))
        }
    }
}
