internal import Commands

/// Instructions for the workers and the dispatcher. Pacing and orders are complete, to be sent again as they
/// stand; the rest concerns the links that were looked at.
package struct NetworkDecisions: Sendable, Equatable {
    /// Of the links that were looked at.
    package var allowances: [LinkKey: LinkAllowance] = [:]
    package var pacing: [Pacing] = []
    /// An order stands until its transfer is gone from its worker's reports.
    package var orders: [TransferOrder] = []
    /// Links whose level has changed since the last decisions.
    package var changed: [LinkKey] = []
    /// Links that were forgotten.
    package var forgotten: [LinkKey] = []

    package init() {}
}
