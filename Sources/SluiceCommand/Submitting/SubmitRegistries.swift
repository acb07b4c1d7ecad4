internal import Operations
internal import Queue

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
