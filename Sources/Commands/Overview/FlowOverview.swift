/// The flows that have not ended.
package struct FlowOverview: Sendable, Equatable {
    /// The flows that are shown.
    package static let maxShown = 5

    package var count = 0
    /// False where there are more than ``count``.
    package var isComplete = true
    /// At most ``maxShown``, the newest first.
    package var newest: [FlowState] = []

    package init() {}

    mutating func add(_ other: FlowOverview) {
        count += other.count
        isComplete = isComplete && other.isComplete
        newest = Array((newest + other.newest).sorted { $0.command.id > $1.command.id }.prefix(Self.maxShown))
    }
}
