/// The batches that have not ended.
package struct BatchOverview: Sendable, Equatable {
    /// The batches that are shown.
    package static let maxShown = 5

    package var count = 0
    /// False where there are more than ``count``.
    package var isComplete = true
    /// At most ``maxShown``, the newest first.
    package var newest: [BatchState] = []

    package init() {}
}
