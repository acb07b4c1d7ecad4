internal import Commands
internal import Host
internal import Logging
internal import Membership
internal import Operations
internal import Store
internal import Synchronization
internal import Wire

/// Handles the outcomes of commits.
extension Executor {
    func committed(_ batch: ExecutionCommitter.Batch, group: CommitGroup) {
        guard let outcomes = batch.outcomes else { return failed(batch, group: group) }
        let now = MonotonicTime.now
        change { [self] state in
            noteLock(of: group, after: batch.before, &state)
            for (write, outcome) in zip(batch.writes, outcomes) {
                settle(write, outcome, shard: committers.shard(of: write.id), now: now, &state)
            }
            if !outcomes.effects.isEmpty { state.effects.append(outcomes.effects) }
        }
    }

    private func failed(_ batch: ExecutionCommitter.Batch, group: CommitGroup) {
        if let error = batch.error, commitErrors.withLock({ $0.isNew(error, now: .now) }) {
            logger.error(
                "A commit failed: \(error.message)",
                metadata: ["shard": "\(group)", "writes": "\(batch.writes.count)"])
        }
        change { [self] state in
            noteLock(of: group, after: batch.before, &state)
            for write in batch.writes {
                switch write {
                case .claim(let id, _, _): state.slots.held.refused(id)
                // It went along with other writes, and the next one replaces it.
                case .offset: break
                case .sent(let id, let claim), .saveCheckpoint(let id, let claim, _), .end(let id, let claim, _):
                    state.lost(id, claim: claim, isInStore: true)
                }
            }
        }
    }

    /// Notes whether the shards are locked or out of reach. The coordinator receives it, and offers nothing of such a shard.
    private func noteLock(of group: CommitGroup, after before: CommitPolicy.Condition, _ state: inout State) {
        let isLocked = committers[group].isLocked
        guard isLocked != state.slots.state.locked.contains(group.shards.lowerBound) else { return }
        for shard in group.shards { state.slots.setLocked(shard, isLocked) }
        guard !isLocked else { return }
        let end = before == .unreachable ? "A shard can be reached again." : "A shard is not locked any more."
        logger.notice("\(end)", metadata: ["shard": "\(group)"])
    }

    private func settle(
        _ write: ExecutionWrite, _ outcome: ExecutionOutcome, shard: Int, now: MonotonicTime, _ state: inout State
    ) {
        switch (write, outcome) {
        case (.claim(let id, _, _), .claimed(let command, let payload, let checkpoint, let transitions)):
            guard let operation = registry[command.type] else {
                // Offered by mistake; nothing has begun.
                state.writes.append(state.slots.held.claimedWithoutOperation(id, claim: command.claim))
                return
            }
            let execution = execution(
                of: command, payload, checkpoint, state.paces.rate(of: command, CommandType.direction(of: command.type))
            )
            state.slots.claimed(execution, operation, now: now)
            state.meter.claimed(command.claim, command.qos, since: command.createdAt, now: command.updatedAt)
            state.report(transitions, of: command, retries: command.retries, shard: shard)
            if state.slots.isDraining { state.releaseUnstarted() }
        case (.claim(let id, _, _), _):
            state.slots.held.refused(id)
        case (.sent(let id, let claim), .done(let transitions, let retries)):
            guard let (execution, continuation) = state.slots.held.sentCommitted(id, claim: claim) else { return }
            state.report(transitions, of: execution.command, retries: retries, shard: shard)
            continuation.resume(returning: true)
        case (.sent(let id, let claim), .refused):
            state.slots.held.sentRefused(id, claim: claim)?.resume(returning: false)
        case (.saveCheckpoint(let id, let claim, _), .done):
            state.slots.held.checkpointSaved(id, claim: claim)?.resume(returning: true)
        case (.end(let id, let claim, _), .done(let transitions, let retries)):
            guard let gone = state.slots.held.endCommitted(id, claim: claim) else { return }
            state.report(
                transitions, of: gone.execution.command, retries: retries, failure: gone.failure,
                unavailable: gone.unavailable, shard: shard)
            state.measure(gone, transitions, retries: retries, now: now)
            state.retire(gone)
        case (.offset, _):
            break
        case (.sent(let id, let claim), _), (.saveCheckpoint(let id, let claim, _), _), (.end(let id, let claim, _), _):
            logger.warning(
                "Another execution has taken over; this one reports nothing.", metadata: ["command": "\(id)"])
            state.lost(id, claim: claim)
        }
    }

    private func execution(
        of command: Command, _ payload: [UInt8], _ checkpoint: [UInt8]?, _ bytesPerSecond: Int64?
    ) -> CommandExecution {
        let claimed = CommandClaim(id: command.id, claim: command.claim)
        return CommandExecution(
            command: command, payload: payload, checkpoint: checkpoint?.isEmpty == true ? nil : checkpoint,
            meter: TransferMeter(
                CommandType.direction(of: command.type), offset: command.offset, total: command.total),
            pace: Pace(bytesPerSecond: bytesPerSecond), saver: { [self] in try await save($0, of: claimed) },
            publisher: { [publish] in publish(Published(topic: $0, body: $1.text)) },
            observer: observer)
    }
}

extension Executor.State {
    /// Measures an execution whose end is committed.
    /// - Parameter retries: failures charged so far.
    fileprivate mutating func measure(
        _ gone: HeldCommands.Gone, _ transitions: [Transition], retries: Int, now: MonotonicTime
    ) {
        guard let run = gone.run, let status = transitions.last?.status else { return }
        let command = gone.execution.command
        meter.ended(command.type, as: status, after: now - run.began)
        if status == .new {
            meter.released(run.stop?.name ?? gone.failure.map { "\($0.fault)" } ?? "held")
        } else if let failure = gone.failure, retries > command.retries || status == .tooManyTimes {
            meter.charged(failure.fault)
        }
    }

    fileprivate mutating func report(
        _ transitions: [Transition], of command: Command, retries: Int, failure: CommandFailure? = nil,
        unavailable: Unavailable.Answer? = nil, shard: Int
    ) {
        for transition in transitions {
            let event = StatusEvent(
                transition: transition, type: command.type, qos: command.qos, destination: command.destination,
                retries: retries, shard: shard)
            var report = StatusReport(
                event: event, fault: failure?.fault, isPushback: failure?.isPushback ?? false,
                isAnswer: failure?.isAnswer ?? false)
            report.unavailable = unavailable
            reports.append(report)
        }
    }

    /// The command is in other hands: its operation is stopped, and nothing more is written.
    /// - Parameter isInStore: the store still says that this worker holds it, so its entry in the log of
    ///   started executions stays.
    fileprivate mutating func lost(_ id: CommandID, claim: Int, isInStore: Bool = false) {
        guard let gone = slots.held.lost(id, claim: claim) else { return }
        gone.sent?.resume(returning: false)
        if let task = gone.run?.task { cancellations.append(task) }
        if isInStore, let entry = gone.run?.logEntry { intentLog?.end(entry) }
        retire(gone, clearsLog: !isInStore)
    }

    fileprivate mutating func retire(_ gone: HeldCommands.Gone, clearsLog: Bool = true) {
        if clearsLog, let entry = gone.run?.logEntry { intentLog?.clear(entry) }
        for continuation in gone.run?.checkpoints ?? [] { continuation.resume(returning: false) }
        let (reading, before) = gone.execution.meter.take()
        let link = LinkName(destination: gone.execution.command.destination, direction: reading.direction)
        linkMeter.resent(reading.resent(since: before), by: link)
        if reading.bytes > 0 {
            totals[link, default: LinkTotals()].add(reading.bytes, gone.execution.command.qos.serviceClass)
        }
    }
}

extension HeldCommands.Gone {
    /// The answer 503 that ended the execution.
    fileprivate var unavailable: Unavailable.Answer? {
        guard failure?.isUnavailable == true else { return nil }
        return Unavailable.Answer(
            CommandClaim(id: execution.id, claim: execution.claim), target: CommandTarget(payload: execution.payload))
    }
}

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
