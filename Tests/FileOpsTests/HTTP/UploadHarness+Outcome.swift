import Commands
import Dispatch
import Operations
import Synchronization
import TestSupport

extension UploadHarness {
    /// Executes an upload to its end.
    /// - Parameter limit: the execution is cancelled after this time.
    /// - Throws: ``Missed`` where the execution has not ended by then.
    func outcome(
        file: String, to url: String, method: String = "PUT", id: CommandID = CommandID(),
        within limit: Duration = .seconds(45)
    ) async throws -> OperationOutcome {
        let extra: [JSONValue.Member] = [.init("method", .string(method))]
        let (execution, _) = try execution(file: file, to: url, extra: extra, id: id)
        return try await outcome(of: execution, within: limit)
    }

    func outcome(
        of execution: CommandExecution, within limit: Duration = .seconds(45)
    ) async throws -> OperationOutcome {
        let work = Task { try await run(execution) }
        let isExpired = Atomic(false)
        let timer = DispatchWorkItem {
            isExpired.store(true, ordering: .releasing)
            work.cancel()
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + limit.seconds, execute: timer)
        let result = await work.result
        timer.cancel()
        // The result of a cancellation is not an end in time.
        if isExpired.load(ordering: .acquiring) { throw Missed("the execution had not ended after \(limit)") }
        do {
            return .success(try result.get())
        } catch let failure as CommandFailure {
            return .failure(failure)
        }
    }
}
