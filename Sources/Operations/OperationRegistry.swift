package import Commands

/// Finds the operation for a command type.
public struct OperationRegistry: Sendable {
    private var operations: [String: any CommandOperation] = [:]
    /// Of types without an operation here.
    private var rules: [String: PayloadRule] = [:]
    /// The destination of a `file:` URL: the file system that holds the file. Nil: such a URL has none.
    package var fileSystem: (@Sendable (_ url: String) -> Destination?)?

    /// - Precondition: no two operations have the same type, and every type has the form `[a-z0-9.-]+`.
    public init(_ operations: [any CommandOperation]) {
        for operation in operations {
            precondition(CommandDraft.isType(operation.type), "“\(operation.type)” is not a command type")
            precondition(self.operations[operation.type] == nil, "two operations for the type “\(operation.type)”")
            self.operations[operation.type] = operation
        }
    }

    public subscript(_ type: String) -> (any CommandOperation)? { operations[type] }

    /// The facts of a payload: by its operation, else by the rule of its type; nil without either.
    /// - Throws: ``PayloadError``, as ``CommandOperation/inspect(_:)``.
    package func attributes(of payload: JSONValue, type: String) throws(PayloadError) -> PayloadAttributes? {
        if let operation = operations[type] { return try operation.inspect(payload) }
        return try rules[type]?.attributes(of: payload)
    }

    /// How the payloads of a type are read without its operation.
    package func rule(for type: String) -> PayloadRule { operations[type]?.rule ?? rules[type] ?? PayloadRule() }

    /// The facts of a payload with references to results, as far as they are known before the results are: by the rule
    /// of its type. The operation inspects the payload when the references are resolved.
    /// - Parameter destination: of the producer; nil: that of the payload.
    /// - Throws: ``PayloadError`` `data` where the destination depends on a reference.
    package func attributes(
        of template: PayloadTemplate, type: String, destination: Destination?
    ) throws(PayloadError) -> PayloadAttributes {
        let rule = rule(for: type)
        if let destination {
            var attributes = PayloadAttributes(destination: destination, idempotent: rule.isIdempotent)
            attributes.retryLimit = rule.retryLimit
            return attributes
        }
        if let text = rule.destination, let pointer = try? JSONPointer(text) {
            guard !template.dependsOnReference(at: pointer) else {
                throw PayloadError(
                    .data,
                    "“\(text)” depends on a result, and a result must not choose the destination of a command: state it as "
                        + "“destination”")
            }
        }
        return try rule.attributes(of: template.withHoles)
    }

    /// With the rule that a worker has stored for a type, where there is no operation for it here.
    package func adding(_ rule: PayloadRule?, for type: String) -> OperationRegistry {
        var registry = self
        registry.rules[type] = rule
        return registry
    }

    /// The rules of the operations, by type.
    package var operationRules: [String: PayloadRule] { operations.mapValues(\.rule) }

    /// The operations for these types, and no others.
    package func limited(to types: Set<String>) -> OperationRegistry {
        var registry = OperationRegistry(operations.values.filter { types.contains($0.type) })
        registry.fileSystem = fileSystem
        return registry
    }

    /// The types it has operations for, sorted.
    public var types: [String] { operations.keys.sorted() }
}
