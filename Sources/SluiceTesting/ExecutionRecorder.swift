internal import Commands
internal import Glibc
internal import Operations
internal import Synchronization

/// Records the execution that runs, and interrupts it.
final class ExecutionRecorder: ExecutionObserver {
    struct Record: Sendable {
        /// Nil before the operation was called.
        var payload: [UInt8]?
        var checkpoints: [[UInt8]] = []
        var progress: [TestRun.Progress] = []
        var wasInterrupted = false
        /// Of the interruption.
        var error: SluiceError?
    }

    private struct State {
        var record = Record()
        var command: CommandClaim?
        var interruption: Interruption?
        var interrupt: @Sendable (Interruption.Kind, CommandClaim) throws(SluiceError) -> Void = { _, _ in }
    }

    private let state = Mutex(State())

    /// - Parameter interrupt: interrupts an execution, and returns before it has ended.
    func begin(
        _ interruption: Interruption?,
        _ interrupt: @escaping @Sendable (Interruption.Kind, CommandClaim) throws(SluiceError) -> Void
    ) {
        state.withLock { $0 = State(interruption: interruption, interrupt: interrupt) }
    }

    func end() -> Record {
        state.withLock { state in
            defer { state = State() }
            return state.record
        }
    }

    // MARK: Steps

    func started(_ execution: CommandExecution) async {
        let isReached = reach { state in
            state.record.payload = execution.payload
            state.command = CommandClaim(id: execution.id, claim: execution.claim)
            return .start
        }
        if isReached { await Self.untilCancelled() }
    }

    func saved(_ checkpoint: [UInt8]) async {
        let isReached = reach { state in
            state.record.checkpoints.append(checkpoint)
            return .checkpoint(state.record.checkpoints.count)
        }
        if isReached { await Self.untilCancelled() }
    }

    func progressed(offset: Int64, total: Int64) {
        let isReached = reach { state in
            state.record.progress.append(TestRun.Progress(offset: offset, total: total))
            return .progress(offset)
        }
        // The thread of an operation may block.
        while isReached, !Task.isCancelled { sched_yield() }
    }

    /// - Parameter step: records a step, and returns its point.
    /// - Returns: whether the point is that of the interruption, which is then under way.
    private func reach(_ step: (inout State) -> Interruption.Point) -> Bool {
        let reached = state.withLock { state -> State? in
            let point = step(&state)
            guard let interruption = state.interruption, !state.record.wasInterrupted,
                interruption.point.isReached(by: point)
            else { return nil }
            state.record.wasInterrupted = true
            return state
        }
        guard let reached, let command = reached.command, let interruption = reached.interruption else { return false }
        do throws(SluiceError) {
            try reached.interrupt(interruption.kind, command)
            return true
        } catch {
            state.withLock { $0.record.error = error }
            return false
        }
    }

    private static func untilCancelled() async {
        let (stream, continuation) = AsyncStream<Never>.makeStream()
        for await _ in stream {}
        withExtendedLifetime(continuation) {}
    }
}

extension Interruption.Point {
    fileprivate func isReached(by point: Self) -> Bool {
        switch (self, point) {
        case (.start, .start): true
        case (.checkpoint(let number), .checkpoint(let saved)): number == saved
        case (.progress(let bytes), .progress(let offset)): offset >= bytes
        case (.start, _), (.checkpoint, _), (.progress, _): false
        }
    }
}
