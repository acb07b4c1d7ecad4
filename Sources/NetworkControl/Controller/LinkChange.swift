/// What made a link carry another amount than usual, with what was measured. Amounts are in bytes per second.
package enum LinkChange: Sendable, Equatable {
    /// The link itself: its transfers end less or more often as well.
    case capacity(usual: Double, measured: Double)
    /// What there is to send: transfers end as often as before or more often, each with fewer bytes; or more
    /// seldom, each with more. `turns` and `usualTurns` are completions per second of each transfer in
    /// flight.
    case demand(usual: Double, measured: Double, turns: Double, usualTurns: Double)
    /// Packets that are lost without a queue. `share` is that of bytes that were sent again.
    case loss(usual: Double, measured: Double, share: Double)
    /// A person's `maxRate`.
    case steering(usual: Double, measured: Double)
    /// Receivers that have closed their TCP windows, for `count` of `transfers`.
    case receiver(count: Int, transfers: Int)

    /// Nil for the capacity, of which the level tells.
    package var sentence: String? {
        switch self {
        case .capacity: nil
        case .demand(let usual, let measured, let turns, let usualTurns):
            "transfers carry \(measured < usual ? "fewer" : "more") bytes each (\(MeasureText.rate(measured)), and "
                + "\(MeasureText.rate(usual)) before; \(MeasureText.count(turns)) completions a second of each, and "
                + "\(MeasureText.count(usualTurns)) before)"
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
