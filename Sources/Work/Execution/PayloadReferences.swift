internal import Commands
internal import Operations
internal import Store

/// Replaces the references of payloads by the results of the commands that a command depends on.
///
/// The results are in the shard of the command, and a success is never left, so every attempt gets the same payload.
struct PayloadReferences: Sendable {
    let store: any ReadingStore

    /// Bytes of the results that a payload may refer to. The resolved payload is smaller.
    private static let maxResultBytes = 8 << 20
    /// Parents that are read in one transaction.
    private static let pageSize = 100

    /// The execution with the payload that the operation gets. Blocks where the payload has references.
    /// - Throws: as ``payload(of:for:)``.
    func resolved(
        _ execution: CommandExecution, for operation: any CommandOperation
    ) throws(CommandFailure) -> CommandExecution {
        guard Self.mayHaveReferences(execution.payload) else { return execution }
        return CommandExecution(execution, payload: try payload(of: execution, for: operation))
    }

    /// The payload that the operation gets. Blocks.
    /// - Throws: ``CommandFailure``: final for a reference that leads to nothing, for a payload that the operation refuses,
    ///   and for one that leads to another destination than the command has.
    func payload(
        of execution: CommandExecution, for operation: any CommandOperation
    ) throws(CommandFailure) -> [UInt8] {
        guard let value = try? JSONValue(parsing: execution.payload) else { return execution.payload }
        do throws(StoreError) {
            // In the payload of any other command such an object is plain data.
            guard let waits = try store.dependencies(of: execution.id, limit: 0) else { return execution.payload }
            let template: PayloadTemplate
            do throws(PayloadReferenceError) { template = try PayloadTemplate(value) } catch {
                throw StoreError(.invalid, error.description)
            }
            guard !template.isPlain else { return execution.payload }
            return try check(try resolve(template, of: execution.command, waits), execution.command, operation)
        } catch {
            let isFinal = error.code == .invalid || error.code == .notFound
            throw CommandFailure(isFinal ? .final : .command, reason: error.message, delivery: .refused)
        }
    }

    /// Whether a payload may have a member whose name begins with `$`, which may be escaped.
    private static func mayHaveReferences(_ payload: [UInt8]) -> Bool {
        for (quote, next) in zip(payload, payload.dropFirst()) {
            if quote == UInt8(ascii: "\""), next == UInt8(ascii: "$") { return true }
            if quote == UInt8(ascii: "\\"), next == UInt8(ascii: "u") { return true }
        }
        return false
    }

    private func resolve(
        _ template: PayloadTemplate, of command: Command, _ waits: CommandDependencies
    ) throws(StoreError) -> JSONValue {
        let results = try results(for: template, of: command)
        let flow = template.usesFlow ? try waits.flow.flatMap { id throws(StoreError) in try store.flow(id) } : nil
        do throws(PayloadResolutionError<StoreError>) {
            return try template.resolved(nodes: results.names) { (source) throws(StoreError) in
                switch source {
                case .node(let name): results.byName[name].flatMap { JSONValue(result: $0) }
                case .command(let id): results.byID[id].flatMap { JSONValue(result: $0) }
                case .flow(let field): flow.map { JSONValue(field, of: $0) }
                case .pattern: nil
                }
            }
        } catch {
            switch error {
            case .payload(let problem): throw StoreError(.invalid, "\(problem)")
            case .source(let error): throw error
            }
        }
    }

    private struct Results {
        /// In the order of the flow.
        var names: [String] = []
        var byName: [String: [UInt8]] = [:]
        var byID: [CommandID: [UInt8]] = [:]
    }

    /// The results that a payload refers to. A flow may have many parents with large results, so no others are kept.
    private func results(for template: PayloadTemplate, of command: Command) throws(StoreError) -> Results {
        var results = Results()
        guard !template.parents.isEmpty else { return results }
        var bytes = 0
        var position: Int64 = 0
        while true {
            let page = try store.parentResults(of: command.id, after: position, limit: Self.pageSize)
            guard let last = page.last else { return results }
            position = last.position
            for parent in page {
                let isMatched = template.parents.contains { $0.matches(parent) }
                if let name = parent.name, isMatched { results.names.append(name) }
                guard isMatched, let result = parent.result else { continue }
                bytes += result.count
                guard bytes <= Self.maxResultBytes else {
                    throw StoreError(
                        .invalid,
                        "the results that the payload refers to have more than \(Self.maxResultBytes >> 20) MiB; let the "
                            + "parents write files, and refer to their paths")
                }
                results.byID[parent.id] = result
                if let name = parent.name { results.byName[name] = result }
            }
        }
    }

    /// The payload as the operation leaves it. A server's answer must not choose the destination, because credentials
    /// and network control go by it.
    private func check(
        _ payload: JSONValue, _ command: Command, _ operation: any CommandOperation
    ) throws(StoreError) -> [UInt8] {
        let facts: PayloadAttributes
        do throws(PayloadError) { facts = try operation.inspect(payload) } catch {
            throw StoreError(.invalid, "the payload cannot be used with the results of its parents: \(error)")
        }
        guard facts.destination == command.destination else {
            throw StoreError(
                .invalid,
                "with the results of its parents the payload leads to \(facts.destination), and the command was submitted for "
                    + "\(command.destination); nothing was sent")
        }
        return facts.payload?.bytes ?? payload.bytes
    }
}

extension PayloadReference.Source {
    fileprivate func matches(_ parent: ParentResult) -> Bool {
        switch self {
        case .node(let name): parent.name == name
        case .command(let id): parent.id == id
        case .pattern(let prefix): parent.name?.utf8.starts(with: prefix.utf8) ?? false
        case .flow: false
        }
    }
}

extension JSONValue {
    fileprivate init?(result: [UInt8]) {
        guard let value = try? JSONValue(parsing: result) else { return nil }
        self = value
    }

    fileprivate init(_ field: FlowField, of flow: FlowState) {
        switch field {
        case .id: self = .string(flow.command.id.description)
        case .status: self = .string(flow.command.status.name)
        case .failed: self = .integer(Int64(flow.failed))
        case .name: self = .string(flow.name)
        case .nodes: self = .integer(Int64(flow.nodes))
        }
    }
}
