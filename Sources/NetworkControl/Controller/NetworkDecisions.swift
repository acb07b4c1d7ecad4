internal import Commands

/// What workers and the dispatcher are to do. Pacing and orders are all that stand, to be sent again; the others tell what was
/// looked at.
package struct NetworkDecisions: Sendable, Equatable {
    /// Of the links that were looked at.
    package var allowances: [LinkKey: LinkAllowance] = [:]
    package var pacing: [Pacing] = []
    /// They stand until the transfer is gone from its worker's reports.
    package var orders: [TransferOrder] = []
    /// Links whose level is another than in the last decisions.
    package var changed: [LinkKey] = []
    /// Links that are known no more.
    package var forgotten: [LinkKey] = []

    package init() {}
}
