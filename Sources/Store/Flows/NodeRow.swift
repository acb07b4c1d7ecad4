internal import Commands

/// The row in `node` of a command that waits for others, or that is a part of a flow.
struct NodeRow: Sendable, Equatable {
    struct Flags: OptionSet, Sendable {
        let rawValue: Int
        /// Its failure counts as a success for those that wait for it, and does not fail its flow.
        static let mayFail = Flags(rawValue: 1)
        /// It was cancelled because the end that it handles did not come, which does not count as a failure.
        static let notNeeded = Flags(rawValue: 2)
        /// All its dependencies are satisfied by any end, so it also runs in a flow that is cancelled.
        static let finalizer = Flags(rawValue: 4)
        /// It runs after its flow, which does not count it.
        static let callback = Flags(rawValue: 8)
        /// It is a flow; `node_open_flow` finds those that have not ended.
        static let flow = Flags(rawValue: 16)

        /// The highest quality of service of a command that waits for this flow or batch: its nodes or members have it or a
        /// higher one. Nil where none waits. In bits 8 to 15, 256 times its number and one.
        var awaitedQoS: QualityOfService? {
            get { QualityOfService(rawValue: (rawValue >> 8 & 0xFF) - 1) }
            set { self = Flags(rawValue: rawValue & ~0xFF00 | (newValue.map { ($0.rawValue + 1) * 256 } ?? 0)) }
        }
    }

    /// Of the command.
    var turn: Int64
    /// The turn of its flow; nil outside of one.
    var flow: Int64?
    /// Its name in the flow.
    var name: String?
    /// Dependencies that are not satisfied. Of a flow: nodes that have not ended.
    var pending: Int
    var flags: Flags = []
    /// The turn of the parent whose end cancelled it.
    var cause: Int64?
}
