/// A fact about a flow that a callback's payload can have: `{"$flow": "id"}`.
///
/// The raw values are the words in payloads.
package enum FlowField: String, Sendable, CaseIterable {
    /// The flow's UUID.
    case id
    /// The word for the status in which it has ended.
    case status
    /// The number of its failed nodes.
    case failed
    /// Its name.
    case name
    /// The number of its nodes.
    case nodes
}
