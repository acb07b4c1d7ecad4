public import Commands
internal import Coordination
internal import Store
internal import Wire
internal import Work

extension TestQueue {
    /// Executions of one drain after which the test has an endless loop.
    private static let maxRuns = 10_000
    private static let maxWait = Duration.seconds(366 * 86_400)

    // MARK: One command

    /// Submits a command and executes it once, before all others.
    /// - Parameters:
    ///   - type: the type of an operation of this queue, or of an answer.
    ///   - payload: JSON for the operation. The default is an empty object.
    ///   - options: of the submit. The default is their defaults.
    ///   - attempt: the number of the execution, from 1, the default. Those before it have failed and were charged.
    ///   - checkpoint: of the execution before, which failed, or with `attempt` 1 was preempted. Nil, the default: none.
    ///   - interruption: ends the execution from outside. Nil, the default: it ends by itself.
    /// - Returns: the execution, however it ended.
    /// - Throws: ``Sluice/SluiceError``: as ``Sluice/SluiceClient/submit(_:payload:options:)``; `invalid` for an attempt that
    ///   the retry limit does not allow; and as ``run(_:interruption:)``.
    @discardableResult
    public func run(
        _ type: String, payload: JSONValue = .object([]), options: SubmitOptions = SubmitOptions(), attempt: Int = 1,
        checkpoint: [UInt8]? = nil, interruption: Interruption? = nil
    ) async throws(SluiceError) -> TestRun {
        let draft = try client.draft(type, payload: payload, options: options)
        guard (1...draft.retryLimit + 1).contains(attempt) else {
            throw SluiceError(
                .invalid,
                "there is no attempt \(attempt): with a retry limit of \(draft.retryLimit) a command has the attempts 1 to "
                    + "\(draft.retryLimit + 1)")
        }
        let id: CommandID
        do { id = try await client.submit(draft, allowUnknownType: options.allowUnknownType) } catch {
            throw SluiceError(error)
        }
        let past = (attempts: attempt - 1, checkpoint: checkpoint)
        return try await busy { () throws(SluiceError) in
            try promote()
            try recordPast(of: id, past.attempts, past.checkpoint)
            return try await runNow(id, interruption)
        }
    }

    /// Executes one ready command of the queue, before all others.
    /// - Parameter interruption: ends the execution from outside. Nil, the default: it ends by itself.
    /// - Returns: the execution, however it ended.
    /// - Throws: ``Sluice/SluiceError``: `noSuchCommand`; `notAllowed` where the command waits, has ended, or cannot be
    ///   preempted, and while the queue runs another one; `invalid` where its type has neither an operation nor an answer.
    @discardableResult
    public func run(_ id: CommandID, interruption: Interruption? = nil) async throws(SluiceError) -> TestRun {
        try await busy { () throws(SluiceError) in
            try promote()
            return try await runNow(id, interruption)
        }
    }

    // MARK: The queue

    /// Executes the ready commands, one at a time, until none is ready. A command that waits for a later time stays, unless
    /// the clock may move.
    ///
    /// The order is that of one worker with one slot: by class of service, then by age and quality of service.
    /// - Parameter duration: the clock moves by this much: from one time at which something is due to the next, and then to
    ///   the end. Zero, the default: it stands still.
    /// - Returns: the executions, in order.
    /// - Throws: ``Sluice/SluiceError``: `invalid` where the type of a ready command has neither an operation nor an answer;
    ///   `notAllowed` while the queue runs; `failed` after 10,000 executions.
    @discardableResult
    public func drain(advancing duration: Duration = .zero) async throws(SluiceError) -> [TestRun] {
        try await busy { () throws(SluiceError) in
            let end = clock.now() + duration
            var runs: [TestRun] = []
            while true {
                try promote()
                if let ready = try nextReady() {
                    if let run = try await execute(ready, nil) { runs.append(run) }
                    guard runs.count < Self.maxRuns else {
                        throw SluiceError(
                            .failed,
                            "the queue has executed \(runs.count) commands and is not empty: do they submit more?")
                    }
                } else if let due = try nextDue(), due <= end {
                    clock.move(to: due)
                } else {
                    clock.move(to: end)
                    return runs
                }
            }
        }
    }

    /// Drains the queue until a command or a flow has ended, and moves the clock to each time at which something is due.
    /// - Returns: its end.
    /// - Throws: ``Sluice/SluiceError``: `noSuchCommand`; `failed` where nothing that is due can end the command, and where it
    ///   has not ended after 366 days of the clock; and as ``drain(advancing:)``.
    @discardableResult
    public func wait(for id: CommandID) async throws(SluiceError) -> CommandOutcome {
        try await busy { () throws(SluiceError) in
            let end = clock.now() + Self.maxWait
            var count = 0
            while true {
                try promote()
                let command = try command(id)
                guard !command.status.isFinal else {
                    return CommandOutcome(
                        id: id, status: command.status, reason: command.reason, result: try result(id))
                }
                if let ready = try nextReady() {
                    _ = try await execute(ready, nil)
                    count += 1
                    guard count < Self.maxRuns else {
                        throw SluiceError(
                            .failed, "\(count) commands were executed, and command \(id) is \(command.status)", id: id)
                    }
                } else if let due = try nextDue(), due <= end {
                    clock.move(to: due)
                } else {
                    let cause = isOffline(command.destination) ? "; its destination is offline" : ""
                    throw SluiceError(
                        .failed, "command \(id) is \(command.status), and nothing that is due will end it\(cause)",
                        id: id)
                }
            }
        }
    }

    // MARK: Executions

    /// Runs `body`, unless another call executes commands.
    private func busy<Value: Sendable>(
        _ body: () async throws(SluiceError) -> Value
    ) async throws(SluiceError) -> Value {
        let wasBusy = withState { state in
            defer { state.isBusy = true }
            return state.isBusy
        }
        guard !wasBusy else {
            throw SluiceError(
                .notAllowed, "the queue executes a command in another call; wait for the end of that call")
        }
        defer { withState { $0.isBusy = false } }
        return try await body()
    }

    private func runNow(_ id: CommandID, _ interruption: Interruption?) async throws(SluiceError) -> TestRun {
        let command = try command(id)
        guard
            let ready = try stored({ () throws(StoreError) in try coordinator.ready(id) }),
            !isOffline(command.destination)
        else {
            let cause = isOffline(command.destination) ? "its destination is offline" : "it is \(command.status)"
            let until = command.notBefore > clock.now() ? " until \(command.notBefore)" : ""
            throw SluiceError(.notAllowed, "command \(id) cannot run now: \(cause)\(until)", id: id)
        }
        if interruption?.kind == .preempt, !command.idempotent {
            throw SluiceError(
                .notAllowed,
                "command \(id) is not idempotent, and such a command is never preempted once it may have been sent; submit it "
                    + "as idempotent, or interrupt it in another way", id: id)
        }
        guard let run = try await execute(ready, interruption) else {
            throw SluiceError(
                .notAllowed, "command \(id) was not executed: it is \(try self.command(id).status)", id: id)
        }
        return run
    }

    /// - Returns: nil where the command could not be claimed.
    private func execute(
        _ ready: ReadyCommand, _ interruption: Interruption?
    ) async throws(SluiceError) -> TestRun? {
        let worker = try worker()
        guard worker.executes(ready.type) else {
            throw SluiceError(
                .invalid,
                "no operation executes “\(ready.type)”, the type of command \(ready.id); give the queue its operation, or an "
                    + "answer: try queue.answer(\"\(ready.type)\") { _ in nil }", id: ready.id)
        }
        recorder.begin(interruption) { [self] kind, claim throws(SluiceError) in try interrupt(kind, claim, worker) }
        running.set(worker)
        let (reports, _) = await worker.execute(ready)
        running.set(nil)
        let record = recorder.end()
        note(reports)
        try promote()
        if let error = record.error { throw error }
        guard !reports.isEmpty else { return nil }
        let command = try command(ready.id)
        return try stored { () throws(StoreError) in try TestRun(of: command, record, in: queue) }
    }

    private func interrupt(
        _ kind: Interruption.Kind, _ claim: CommandClaim, _ worker: LocalWorker
    ) throws(SluiceError) {
        try stored { () throws(StoreError) in
            switch kind {
            case .cancel:
                _ = try queue.cancel(claim.id)
                worker.cancel(claim)
            case .preempt: worker.release(claim, reason: "preempted by a command of high quality of service")
            case .crash:
                withState { $0.worker = nil }
                _ = try worker.die()
            }
        }
    }

    /// Takes what a coordinator would learn about links.
    private func note(_ reports: [StatusReport]) {
        let now = clock.now()
        withState { state in
            for report in reports {
                let (event, transition) = (report.event, report.event.transition)
                if transition.status == .success || report.isAnswer { state.waits.answered(event.destination) }
                if transition.status.isFinal { state.waits.ended(transition.id) }
                if transition.status == .new, report.fault == .link {
                    state.waits.failed(transition.id, to: event.destination, now: now)
                }
            }
        }
    }

    /// Gives a new command a past: charged failures, and a checkpoint.
    private func recordPast(of id: CommandID, _ attempts: Int, _ checkpoint: [UInt8]?) throws(SluiceError) {
        guard attempts > 0 || checkpoint != nil else { return }
        let worker = try worker()
        for attempt in 1...max(attempts, 1) {
            let claim = try command(id).claim + 1
            var writes: [ExecutionWrite] = [.claim(id, sent: true)]
            if let checkpoint, attempt == max(attempts, 1) {
                writes.append(.saveCheckpoint(id, claim: claim, state: checkpoint))
            }
            var failure = CommandFailure(
                .command, reason: "attempt \(attempt) failed, as the test says", ambiguous: false)
            failure.backoff = .zero
            writes.append(
                .end(
                    id, claim: claim,
                    attempts > 0
                        ? .failure(failure) : .released(reason: "preempted, as the test says", ambiguous: false)))
            let outcome = try stored { () throws(StoreError) in
                try worker.apply(writes, shard: Self.shard)
            }
            guard case .done? = outcome.last else {
                throw SluiceError(
                    .notAllowed, "command \(id) is \(try command(id).status) and cannot have been executed before",
                    id: id)
            }
        }
        try promote()
    }
}
