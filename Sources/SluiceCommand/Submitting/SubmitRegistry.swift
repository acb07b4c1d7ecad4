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
        let registry = BuiltInOperations.registry(
            configuration, submission: .init(umask: CommandLineRun.inheritedUmask))
        // Without a store the type is unknown, which the submit reports.
        guard registry[type] == nil, let queue = try? data.queue() else { return registry }
        return queue.rules(for: type, in: registry)
    }

    /// The operations by which the coordinator checks what was submitted by SQL.
    static func registry(for file: ConfigurationFile) -> OperationRegistry {
        var configuration = OperationsConfiguration()
        configuration.exec = file.programs
        return BuiltInOperations.registry(configuration, submission: .init(umask: CommandLineRun.inheritedUmask))
    }

    private static func programs(_ data: DataOptions) async throws -> ExecConfiguration {
        let directory = data.directory()
        let programs = try ConfigurationFile(data, directory).programs
        guard programs.isEnabled else {
            throw ExitError(
                .permission,
                "programs are off: set “exec.enabled: true” in \(data.config ?? directory.configuration), list the "
                    + "program in programs, and restart the workers (see “sluice exec --help”)")
        }
        return programs
    }
}

/// The operations that check payloads at submit, read once for each type.
actor SubmitRegistries {
    private let data: DataOptions
    private var registries: [String: Result<OperationRegistry, any Error>] = [:]

    init(_ data: DataOptions) { self.data = data }

    /// - Throws: as ``SubmitRegistry/registry(for:_:)``.
    func registry(for type: String) async throws -> OperationRegistry {
        if let known = registries[type] { return try known.get() }
        do {
            let registry = try await SubmitRegistry.registry(for: type, data)
            registries[type] = .success(registry)
            return registry
        } catch {
            registries[type] = .failure(error)
            throw error
        }
    }

    /// The registries of these types, which a builder looks up. The lookup throws the error of a type.
    func lookup(for types: some Sequence<String>) async -> @Sendable (String) throws -> OperationRegistry {
        for type in types { _ = try? await registry(for: type) }
        return { [registries] type in
            guard let registry = registries[type] else { throw ExitError(.internalError, "no registry for \(type)") }
            return try registry.get()
        }
    }
}

extension ScheduleBuilder {
    /// With the operations that check payloads at a submit of this process.
    init(_ data: DataOptions) {
        let registries = SubmitRegistries(data)
        self.init { type in try await registries.registry(for: type) }
    }
}
