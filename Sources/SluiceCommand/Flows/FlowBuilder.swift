internal import Commands
internal import FlowText
internal import Sluice
internal import Work

/// Makes a flow of its document: reads the options, and checks each payload by its operation.
struct FlowBuilder {
    let data: DataOptions
    /// The name of the document for errors; nil for standard input.
    let file: String?
    private var registries: [String: OperationRegistry] = [:]

    init(data: DataOptions, file: String?) {
        self.data = data
        self.file = file
    }

    mutating func flow(_ document: FlowDocument) async throws -> FlowDraft {
        var flow = FlowDraft(document.name, nodes: [])
        var options = SubmitOptions()
        for member in document.options {
            do {
                try BulkField.read(member, into: &options)
            } catch {
                throw problem(nil, nil, error)
            }
        }
        flow.qos = options.qos
        flow.deadline = options.deadline
        flow.uniqueKey = options.uniqueKey
        flow.uniqueFor = options.uniqueFor
        flow.orderingKey = options.orderingKey
        flow.keyLimit = options.keyLimit
        flow.stopsOnFailure = document.stopsOnFailure
        flow.nodes.reserveCapacity(document.nodes.count)
        for node in document.nodes {
            flow.nodes.append(
                FlowNode(
                    node.name, try await draft(node, node.name, options), after: node.after, mayFail: node.mayFail))
        }
        for callback in document.callbacks {
            flow.callbacks.append(
                .init(
                    on: callback.condition,
                    try await draft(callback.node, "then \(callback.condition.name)", options)))
        }
        return flow
    }

    private mutating func draft(
        _ node: FlowDocument.Node, _ name: String, _ flow: SubmitOptions
    ) async throws -> CommandDraft {
        do {
            var options = SubmitOptions()
            options.qos = flow.qos
            options.isNode = true
            for member in node.options { try BulkField.read(member, into: &options) }
            return try CommandDraft(
                type: node.type, payload: node.payload, options: options, registry: try await registry(for: node.type))
        } catch {
            throw problem(name, node.position, error)
        }
    }

    mutating func registry(for type: String) async throws -> OperationRegistry {
        if let known = registries[type] { return known }
        let registry = try await SubmitRegistry.registry(for: type, data)
        registries[type] = registry
        return registry
    }

    private func problem(_ node: String?, _ position: SourcePosition?, _ error: any Error) -> ExitError {
        let exitError = ExitError(error)
        let place = FlowDocumentError(
            file: file, position: position, node: node, problem: exitError.message ?? "it cannot be used")
        return ExitError(exitError.code, place.description)
    }
}
