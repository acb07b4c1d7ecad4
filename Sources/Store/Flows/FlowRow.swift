/// The row in `flow` of a flow. Its node row counts the nodes that have not ended.
struct FlowRow: Sendable, Equatable {
    var turn: Int64
    /// Without callbacks.
    var nodes: Int
    /// Nodes that have ended in `tooManyTimes` or `cancelled`, may not fail, and were needed.
    var failed: Int
    /// The turn of the first of them.
    var firstFailed: Int64?
    /// The failure of a node cancels the others.
    var stopsOnFailure: Bool
}
