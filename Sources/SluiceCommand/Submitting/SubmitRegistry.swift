internal import BuiltIn
internal import Commands
internal import Exec
internal import FileOps
internal import Host
internal import Operations
internal import Queue

/// The operations that check payloads at submit.
enum SubmitRegistry {
    /// - Throws: ``ExitError`` for `exec`, whose checks need sluice.yaml: `configuration` where the file cannot be
    ///   used, `permission` where it does not enable programs.
    static func registry(for type: String, _ data: DataOptions) async throws -> OperationRegistry {
        var configuration = OperationsConfiguration()
        if type == CommandType.exec { configuration.exec = try await programs(data) }
        let registry = BuiltInOperations.registry(configuration, submission: .init(umask: SluiceTool.inheritedUmask))
        // Without a store the type is unknown, which the submit reports.
        guard registry[type] == nil, let queue = try? data.queue() else { return registry }
        return queue.rules(for: type, in: registry)
    }

    /// The operations by which the coordinator checks what was submitted by SQL.
    static func registry(for file: ConfigurationFile) -> OperationRegistry {
        var configuration = OperationsConfiguration()
        configuration.exec = file.programs
        return BuiltInOperations.registry(configuration, submission: .init(umask: SluiceTool.inheritedUmask))
    }

    private static func programs(_ data: DataOptions) async throws -> ExecConfiguration {
        let directory = data.directory()
        let programs = try await ConfigurationFile(data, directory).programs
        guard programs.isEnabled else {
            throw ExitError(
                .permission,
                "programs are off: set “exec.enabled: true” in \(data.config ?? directory.configuration), list the "
                    + "program in programs, and restart the workers (see “sluice exec --help”)")
        }
        return programs
    }
}
