internal import Commands

/// Finds the operation for a command type.
public struct OperationRegistry: Sendable {
    private var operations: [String: any CommandOperation] = [:]

    /// - Precondition: no two operations have the same type, and every type has the form `[a-z0-9.-]+`.
    public init(_ operations: [any CommandOperation]) {
        for operation in operations {
            precondition(CommandDraft.isType(operation.type), "“\(operation.type)” is not a command type")
            precondition(self.operations[operation.type] == nil, "two operations for the type “\(operation.type)”")
            self.operations[operation.type] = operation
        }
    }

    public subscript(_ type: String) -> (any CommandOperation)? { operations[type] }

    /// The operations for these types, and no others.
    package func limited(to types: Set<String>) -> OperationRegistry {
        OperationRegistry(operations.values.filter { types.contains($0.type) })
    }

    /// The types it has operations for, sorted.
    public var types: [String] { operations.keys.sorted() }
}
