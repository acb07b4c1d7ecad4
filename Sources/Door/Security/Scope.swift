/// A permission of a token.
package enum Scope: String, Sendable, CaseIterable {
    /// Send uploads to its routes, and see and end its own.
    case upload
    /// Submit commands, flows and batches.
    case submit
    /// See commands, links, workers, uploads and events.
    case read
    /// Cancel, retry, pause, and whatever else an operator does.
    case control
    /// Read the metrics.
    case metrics
    /// Make upload tokens that have no more rights than itself (``TokenGrant``). No token has it unless a person says so.
    case grant
}
