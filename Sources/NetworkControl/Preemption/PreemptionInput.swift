/// A link as ``PreemptionPlanner`` sees it.
package struct PreemptionInput: Sendable {
    /// Bytes per second; nil before anything was measured.
    package var capacity: Double?
    package var isSaturated = false
    package var level = LinkLevel.unknown
    package var highCount = 0
    /// Bytes that high quality has still to send; nil where unknown.
    package var highRemaining: Int64?
    /// Bytes per second of high and of low quality.
    package var highRate = 0.0
    package var lowRate = 0.0
    /// Transfers of middle and low quality.
    package var others: [TransferSample] = []

    package init() {}
}
