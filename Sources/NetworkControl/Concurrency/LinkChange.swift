/// Why a link carries another amount than usual, with what was measured. Amounts are in bytes per second.
package enum LinkChange: Sendable, Equatable {
    /// The link itself: its transfers end less or more often too.
    case capacity(usual: Double, measured: Double)
    /// The size of what is sent: transfers end as often as before or more often, each with fewer bytes; or
    /// less often, each with more. The rates are completions per second of each transfer in flight.
    case demand(usual: Double, measured: Double, completionRate: Double, usualCompletionRate: Double)
    /// Packets are lost without a queue. `share` is the share of bytes that were sent again.
    case loss(usual: Double, measured: Double, share: Double)
    /// A person's `maxRate`.
    case steering(usual: Double, measured: Double)
    /// The receivers of `count` transfers, out of `transfers`, have closed their TCP windows.
    case receiver(count: Int, transfers: Int)

    /// Nil for the capacity, which the level reports.
    package var reason: LinkReason? {
        switch self {
        case .capacity: return nil
        case .demand(let usual, let measured, _, _): return LinkReason(.demand, measured: measured, usual: usual)
        case .loss(let usual, let measured, let share):
            var reason = LinkReason(.loss, measured: measured, usual: usual)
            reason.share = share
            return reason
        case .steering(let usual, let measured): return LinkReason(.maxRate, measured: measured, usual: usual)
        case .receiver(let count, let transfers): return .receiver(count: count, of: transfers)
        }
    }
}
