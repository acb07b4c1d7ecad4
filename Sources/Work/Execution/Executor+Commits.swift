internal import CLinux
internal import Commands
internal import Logging
internal import Store
internal import Wire

/// What the committers bring back.
extension Executor {
    func committed(_ batch: GroupCommitter.Batch, shard: Int) {
        guard let outcomes = batch.outcomes else { return failed(batch, shard: shard) }
        let now = Int64(clinux_monotonic())
        change { [self] state in
            follow(shard, &state)
            for (write, outcome) in zip(batch.writes, outcomes) {
                settle(write, outcome, shard: shard, now: now, &state)
            }
        }
    }

    private func failed(_ batch: GroupCommitter.Batch, shard: Int) {
        if let error = batch.error {
            logger.error(
                "A commit failed: \(error.message)",
                metadata: ["shard": "\(shard)", "writes": "\(batch.writes.count)"])
        }
        change { [self] state in
            follow(shard, &state)
            for write in batch.writes {
                switch write {
                case .claim(let id, _, _): state.slots.refused(id)
                // It only rode along.
                case .offset: break
                case .sent, .saveCheckpoint, .end: state.forget(write.id, isOpen: true)
                }
            }
        }
    }

    /// Notes whether the shard is locked, for the coordinator, which offers nothing of it then.
    private func follow(_ shard: Int, _ state: inout State) {
        let isLocked = committers[shard].isLocked
        guard isLocked != state.slots.state.locked.contains(shard) else { return }
        state.slots.setLocked(shard, isLocked)
        if !isLocked { logger.notice("A shard is free again.", metadata: ["shard": "\(shard)"]) }
    }

    private func settle(
        _ write: ExecutionWrite, _ outcome: ExecutionOutcome, shard: Int, now: Int64, _ state: inout State
    ) {
        switch (write, outcome) {
        case (.claim(let id, _, _), .claimed(let command, let payload, let checkpoint, let transitions)):
            guard let operation = registry[command.type] else {
                // Offered by mistake; nothing has begun.
                state.slots.claimed(id, preemptible: false, now: now)
                state.slots.ended(id)
                state.writes.append(
                    .end(id, claim: command.claim, .released(reason: "no operation here", ambiguous: false)))
                return
            }
            state.running[id] = Running(
                command: command, payload: payload, checkpoint: checkpoint, operation: operation,
                bytesPerSecond: state.paces.rate(of: command, .up))
            state.slots.claimed(id, preemptible: command.idempotent, now: now)
            state.report(transitions, of: command, retries: command.retries, shard: shard)
            if state.slots.state.phase == .draining { state.releaseUnstarted() }
        case (.claim(let id, _, _), _):
            state.slots.refused(id)
        case (.sent(let id, _), .done(let transitions, let retries)):
            guard let running = state.running[id] else { return }
            state.report(transitions, of: running.command, retries: retries, shard: shard)
            running.sent?.resume(returning: true)
            running.sent = nil
        case (.sent(let id, _), .refused):
            // A wish stands; its owner fulfils it.
            guard let running = state.running[id] else { return }
            if running.stop == nil { running.stop = .cancelled }
            running.sent?.resume(returning: false)
            running.sent = nil
        case (.saveCheckpoint(let id, _, _), .done):
            guard let running = state.running[id], !running.pendingCheckpoints.isEmpty else { return }
            running.pendingCheckpoints.removeFirst().resume(returning: true)
        case (.end(let id, _, _), .done(let transitions, let retries)):
            state.slots.settled(id)
            guard let running = state.running.removeValue(forKey: id) else { return }
            state.report(transitions, of: running.command, retries: retries, failure: running.failure, shard: shard)
            state.retire(running)
        case (.offset, _):
            break
        case (.sent(let id, _), _), (.saveCheckpoint(let id, _, _), _), (.end(let id, _, _), _):
            logger.warning(
                "Another execution has taken over; this one reports nothing.", metadata: ["command": "\(id)"])
            state.forget(id)
        }
    }
}

extension Executor.State {
    fileprivate mutating func report(
        _ transitions: [Transition], of command: Command, retries: Int, failure: CommandFailure? = nil, shard: Int
    ) {
        for transition in transitions {
            let event = StatusEvent(
                transition: transition, type: command.type, qos: command.qos, destination: command.destination,
                retries: retries, shard: shard)
            reports.append(
                StatusReport(
                    event: event, fault: failure?.fault, isPushback: failure?.isPushback ?? false,
                    isAnswer: failure?.isAnswer ?? false))
        }
    }

    /// The command is not ours any more: its operation is stopped, and nothing is written.
    /// - Parameter isOpen: the store still says that it is ours, so the board goes on saying that it has begun.
    fileprivate mutating func forget(_ id: CommandID, isOpen: Bool = false) {
        slots.settled(id)
        guard let running = running.removeValue(forKey: id) else { return }
        running.sent?.resume(returning: false)
        running.sent = nil
        for continuation in running.pendingCheckpoints { continuation.resume(returning: false) }
        running.pendingCheckpoints = []
        running.task?.cancel()
        if isOpen, let entry = running.logEntry {
            startedExecutions?.end(entry)
            running.logEntry = nil
        }
        retire(running)
    }

    fileprivate mutating func retire(_ running: Running) {
        if let entry = running.logEntry { startedExecutions?.clear(entry) }
        let reading = running.meter.reading
        if reading.bytes > 0 {
            let link = LinkName(destination: running.command.destination, direction: reading.direction)
            tallies[link, default: LinkTotals()].add(reading.bytes, running.command.qos.serviceClass)
        }
    }
}
