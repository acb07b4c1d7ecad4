internal import Commands
internal import Host
internal import Operations
internal import Transfers

/// One execution: prepares, starts the program, passes on its progress, and decides the result.
struct ExecRun {
    let execution: CommandExecution
    let payload: ExecPayload
    let program: ExecProgram
    let directories: ExecDirectories

    /// Added to the grace of the payload: an earlier run of the command, whose worker died, is still ending.
    private static let lockTimeout: Duration = .seconds(60)

    func run() async throws -> [UInt8] {
        guard !Task.isCancelled else { throw CommandFailure.stopped("the program “\(program.name)”") }
        let request = ExecPreparation(
            payload: payload, program: program, directories: directories, id: execution.id, claim: execution.claim,
            attempt: execution.command.retries + 1)
        let prepared = try await BlockingPool.shared.run { () throws(CommandFailure) in try request.make() }
        var output = ExecOutput(payload: payload, secrets: prepared.secrets)
        let end = await end(of: prepared, &output)
        output.setFiles(prepared)
        await removeDirectories(prepared.temporary, hasStarted: output.hasStarted)
        return try result(end, output)
    }

    /// Runs the program to its end. A cancellation of the task ends it: TERM, the grace, KILL.
    private func end(of prepared: ExecPreparation.Prepared, _ output: inout ExecOutput) async -> ProgramEnd {
        var guarded = prepared.program
        guarded.grace = payload.grace
        guarded.timeout = payload.timeout
        guarded.idleTimeout = payload.idleTimeout
        guarded.lockTimeout = payload.grace + Self.lockTimeout
        let process = GuardedProcess(guarded)
        let (execution, grace) = (execution, payload.grace)
        return await withTaskCancellationHandler {
            await collect(process, &output)
        } onCancel: {
            process.cancel(grace: execution.isDrained ? min(grace, CommandExecution.stopTimeout) : grace)
        }
    }

    private func removeDirectories(_ own: ExecTemporaryDirectory, hasStarted: Bool) async {
        let (id, claim, directories, programs) = (execution.id, execution.claim, directories, [program])
        await BlockingPool.shared.run {
            own.remove()
            guard hasStarted, claim > 1 else { return }
            ExecLeftovers.remove(of: id, before: claim, in: directories, owners: ExecLeftovers.owners(programs))
        }
    }

    private func collect(_ process: GuardedProcess, _ output: inout ExecOutput) async -> ProgramEnd {
        var end = ProgramEnd(outcome: .guardianLost)
        while let event = await process.next() {
            switch event {
            case .waitingForLock: break
            case .started: output.hasStarted = true
            case .output(let stream, let bytes): output.append(bytes, stream)
            case .report(let report):
                output.report = report
                if let progress = report.progress {
                    execution.progress(offset: progress.offset, total: progress.total)
                }
            case .ended(let its): end = its
            }
        }
        return end
    }

    private func result(_ end: ProgramEnd, _ output: ExecOutput) throws(CommandFailure) -> [UInt8] {
        let verdict = ExecVerdict(
            end, of: program, lastLine: output.lastErrorLine, retryAfter: output.report.retryAfter)
        switch verdict {
        case .success: return ExecResult(end: end, output: output, payload: payload).json
        case .failure(var failure):
            // The reason has one line of the output, and the result as much of it as the payload keeps.
            if output.hasStarted { failure.result = ExecResult(end: end, output: output, payload: payload).json }
            throw failure
        case .stopped:
            throw CommandFailure(
                .command, reason: "the program “\(program.name)” was ended before it was done",
                ambiguous: output.hasStarted)
        }
    }
}
