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
    package var sentence: String? {
        switch self {
        case .capacity: nil
        case .demand(let usual, let measured, let completionRate, let usualCompletionRate):
            "transfers carry \(measured < usual ? "fewer" : "more") bytes each (\(MeasureText.rate(measured)), and "
                + "\(MeasureText.rate(usual)) before; \(MeasureText.count(completionRate)) completions a second of each, and "
                + "\(MeasureText.count(usualCompletionRate)) before)"
        case .loss(let usual, let measured, let share):
            "\(MeasureText.percent(share)) of the bytes are sent again (\(MeasureText.rate(measured)), and "
                + "\(MeasureText.rate(usual)) before)"
        case .steering(let usual, let measured):
            "a rate that was set paces transfers (\(MeasureText.rate(measured)), and \(MeasureText.rate(usual)) before)"
        case .receiver(let count, let transfers):
            "the receiver pauses \(count) of \(transfers) transfers: their TCP windows are closed"
        }
    }
}
