package import Commands
package import Operations

/// Runs a program of `sluice.yaml` under a guardian (``GuardedProcess``). See ``ExecPayload`` for the
/// payload, ``ExecProgram`` for the settings, ``ExecVerdict`` for the meaning of its end and ``ExecRun`` for
/// one execution.
///
/// It is among the operations of a process only where `exec.enabled` is true. A command is ambiguous from the
/// start of the program until its exit code, so the death of the worker leaves one that is not idempotent in
/// doubt. The guardian ends the program then, and a later execution waits for that.
package struct ExecOperation: CommandOperation {
    package let type = CommandType.exec

    let configuration: ExecConfiguration
    private let slots = ProgramSlots()
    private let leftovers = ExecLeftovers()

    package init(configuration: ExecConfiguration) { self.configuration = configuration }

    // MARK: Submit

    package func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        let exec = try ExecPayload(payload)
        try exec.check(for: try configuration.program(of: exec))
        try exec.checkInputFile()
        return PayloadAttributes(destination: Destination.none, idempotent: exec.isIdempotent, payload: exec.json)
    }

    // MARK: Execution

    /// A program with a limit of its own waits for a slot before `sent` is committed.
    package var preparesBeforeSending: Bool { configuration.programs.contains { $0.concurrency != nil } }

    package func prepare(_ execution: CommandExecution) async throws {
        let (_, program) = try request(execution)
        guard let limit = program.concurrency else { return }
        execution.hold(try await slots.take(program.name, limit: limit))
    }

    package func execute(_ execution: CommandExecution) async throws -> [UInt8]? {
        let (payload, program) = try request(execution)
        guard let directories = configuration.directories else {
            throw CommandFailure(.command, reason: "this process has no directory for programs; start a worker")
        }
        leftovers.removeIfDue(in: directories, of: configuration.programs)
        let run = ExecRun(execution: execution, payload: payload, program: program, directories: directories)
        return try await run.run()
    }

    private func request(_ execution: CommandExecution) throws(CommandFailure) -> (ExecPayload, ExecProgram) {
        let payload: ExecPayload
        do throws(PayloadError) {
            payload = try Self.payload(execution)
        } catch {
            throw CommandFailure(.final, reason: "the payload of this exec cannot be used: \(error)")
        }
        let program: ExecProgram
        do throws(PayloadError) {
            program = try configuration.program(of: payload)
        } catch {
            // Charged, because the submit has found it: this worker has read an older sluice.yaml.
            throw CommandFailure(.command, reason: "this worker cannot run it: \(error)")
        }
        do throws(PayloadError) {
            try payload.check(for: program)
        } catch {
            throw CommandFailure(.final, reason: "the settings of this worker do not allow it: \(error)")
        }
        return (payload, program)
    }

    private static func payload(_ execution: CommandExecution) throws(PayloadError) -> ExecPayload {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: execution.payload)
        } catch {
            throw PayloadError(.data, "it is not valid JSON: \(error)")
        }
        return try ExecPayload(value)
    }
}
