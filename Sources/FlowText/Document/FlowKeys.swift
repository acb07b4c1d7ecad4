/// The keys of a flow document.
enum FlowKeys {
    /// Options of the flow, which the caller interprets.
    static let flowOptions = ["qos", "deadline", "uniqueKey", "uniqueFor", "orderingKey", "keyLimit", "keyFailure"]
    static let flow = ["name"] + flowOptions + ["onFailure", "defaults", "nodes", "then"]
    /// The first line of JSON lines: the nodes are the other lines.
    static let lineFlow = flow.filter { $0 != "nodes" }
    /// Options of a node, which the caller interprets.
    static let nodeOptions = ["qos", "idempotent", "retryLimit", "notBefore", "deadline", "destination", "limit"]
    static let node = ["type", "payload", "after", "mayFail"] + nodeOptions
    static let callback = ["type", "payload"] + nodeOptions
}
