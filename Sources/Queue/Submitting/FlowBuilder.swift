package import Commands
package import FlowText
package import Operations

/// Makes a flow of its document: reads the options, and checks each payload by its operation.
package struct FlowBuilder {
    private let registry: (String) throws -> OperationRegistry

    /// - Parameter registry: the operations that check the payloads of a type.
    package init(registry: @escaping (String) throws -> OperationRegistry) { self.registry = registry }

    /// - Throws: ``FlowBuildError`` for an option or a payload that is refused, and for an error of the registry.
    package func flow(_ document: FlowDocument) throws(FlowBuildError) -> FlowDraft {
        var flow = FlowDraft(document.name, nodes: [])
        var options = SubmitOptions()
        for member in document.options {
            do throws(PayloadError) { try BulkField.read(member, into: &options) } catch {
                throw FlowBuildError(node: nil, position: nil, cause: error)
            }
        }
        flow.qos = options.qos
        flow.deadline = options.deadline
        flow.uniqueKey = options.uniqueKey
        flow.uniqueFor = options.uniqueFor
        flow.orderingKey = options.orderingKey
        flow.keyLimit = options.keyLimit
        flow.keyFailure = options.keyFailure
        flow.stopsOnFailure = document.stopsOnFailure
        flow.nodes.reserveCapacity(document.nodes.count)
        for node in document.nodes {
            flow.nodes.append(
                FlowNode(node.name, try draft(node, node.name, options), after: node.after, mayFail: node.mayFail))
        }
        for callback in document.callbacks {
            flow.callbacks.append(
                .init(
                    on: callback.condition, try draft(callback.node, "then \(callback.condition.name)", options)))
        }
        return flow
    }

    private func draft(
        _ node: FlowDocument.Node, _ name: String, _ flow: SubmitOptions
    ) throws(FlowBuildError) -> CommandDraft {
        do {
            var options = SubmitOptions()
            options.qos = flow.qos
            options.isNode = true
            for member in node.options { try BulkField.read(member, into: &options) }
            return try CommandDraft(
                type: node.type, payload: node.payload, options: options, registry: try registry(node.type))
        } catch {
            throw FlowBuildError(node: name, position: node.position, cause: error)
        }
    }
}

/// Why a flow cannot be made of its document.
package struct FlowBuildError: Error, CustomStringConvertible {
    /// The node with the problem; nil where it is the flow's own.
    package var node: String?
    /// Of the node; nil where it is not known.
    package var position: SourcePosition?
    /// The error of the option, of the payload or of the registry.
    package var cause: any Error

    package init(node: String?, position: SourcePosition?, cause: any Error) {
        self.node = node
        self.position = position
        self.cause = cause
    }

    package var description: String { FlowError(node: node, "\(cause)").description }
}
