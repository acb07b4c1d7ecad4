package import Commands

/// A decision of ``PreemptionPlanner`` about the transfers of a link.
package struct PreemptionDecision: Sendable, Equatable {
    /// The row `contended` of the policy is in force.
    package var isContended = false
    /// Transfers of low quality stand still.
    package var isHeadStart = false
    /// No new transfers of low quality.
    package var isLowBlocked = false
    /// Transfers to cut.
    package var cuts: [CommandID] = []

    package init() {}
}
