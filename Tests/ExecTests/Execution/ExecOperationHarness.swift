import Commands
import Foundation
import Operations
import TestSupport

@testable import Exec

/// Executes commands of the type `exec` as a worker does.
struct ExecOperationHarness {
    let directory: TemporaryDirectory
    var program: ExecProgram

    /// Runs a test with one program, `script`, which is the shell.
    static func with(_ body: (inout ExecOperationHarness) async throws -> Void) async throws {
        let directory = try TemporaryDirectory("exec")
        defer { directory.remove() }
        var program = ExecProgram(name: "script", path: dash)
        program.arguments = ["-c"]
        program.allowedArguments = .any
        program.allowsInput = true
        var harness = ExecOperationHarness(directory: directory, program: program)
        try await body(&harness)
    }

    var directories: ExecDirectories {
        let path = directory.path
        return ExecDirectories(temporary: "\(path)/exec") { "\(path)/exec-\($0).lock" }
    }

    var operation: ExecOperation { ExecOperation(configuration: ExecConfiguration([program], directories)) }

    /// The payload of a script.
    func payload(_ text: String, _ more: [JSONValue.Member] = []) -> JSONValue {
        .object([.init("program", "script"), .init("arguments", .array([.string(text)]))] + more)
    }

    func execution(
        _ payload: JSONValue, id: CommandID = CommandID(), claim: Int = 1, meter: TransferMeter = TransferMeter()
    ) throws -> CommandExecution {
        let attributes = try operation.inspect(payload)
        var command = Command(id: id, type: "exec", destination: attributes.destination, createdAt: .now)
        command.status = .sent
        command.idempotent = attributes.idempotent
        command.claim = claim
        return CommandExecution(command: command, payload: attributes.payload?.bytes ?? [], meter: meter)
    }

    func outcome(_ payload: JSONValue) async throws -> OperationOutcome { try await outcome(of: execution(payload)) }

    func outcome(_ text: String, _ more: [JSONValue.Member] = []) async throws -> OperationOutcome {
        try await outcome(payload(text, more))
    }

    func outcome(of execution: CommandExecution, by operation: ExecOperation? = nil) async throws -> OperationOutcome {
        do {
            let result = try await (operation ?? self.operation).execute(execution)
            return .success(try JSONValue(parsing: result ?? []))
        } catch let failure as CommandFailure {
            return .failure(failure)
        }
    }

    /// The names of the directories that runs have left.
    var leftDirectories: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: directories.temporary)) ?? []
    }
}
