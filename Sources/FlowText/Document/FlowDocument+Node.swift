package import Commands

extension FlowDocument {
    /// A command of a flow, or one that runs at its end.
    package struct Node: Sendable, Equatable {
        /// Unique in its flow. The word for its condition where it is a callback.
        package var name: String
        package var type: String
        /// With its references; an empty object where the document has none.
        package var payload: JSONValue
        /// The references of ``payload``.
        package var template: PayloadTemplate
        /// The nodes that it waits for, by name, those of its references included. Empty for a callback.
        package var after: [String: DependencyCondition] = [:]
        /// Whether its failure satisfies dependencies on its success, and does not fail the flow.
        package var mayFail = false
        /// qos, idempotent, retryLimit, notBefore, deadline, destination and limit: its own in the order of the document,
        /// then the defaults that it does not have itself.
        package var options: [JSONValue.Member] = []
        package var position: SourcePosition?
    }
}
