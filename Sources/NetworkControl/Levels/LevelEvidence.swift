/// The measure and the threshold by which a level was judged, for the sentence that `explain` prints.
package enum LevelEvidence: Sendable, Equatable {
    case none
    /// Bytes per second. `reference` is what the same number of transfers carried; nil where the threshold is
    /// fixed.
    case goodput(measured: Double, threshold: Double, reference: Double?)
    /// `threshold` is a share of all transfers.
    case stalled(count: Int, of: Int, threshold: Double)
    case errors(share: Double, threshold: Double)
    /// The round trip, where no transfer shows a goodput.
    case roundTrip(measured: Duration, threshold: Duration)
    /// The delay in queues, where the goodput has fallen too.
    case queue(measured: Duration, threshold: Duration)
    /// The first byte is late and the round trip is not: the server is slow, and the level does not change.
    case slowServer(timeToFirstByte: Duration, srtt: Duration)
    /// Receivers have closed their TCP windows, which says nothing against the link.
    case receiver(count: Int)
    /// An uplink without a queue, in bytes per second.
    case unloaded(measured: Double)
    /// The sentence of the coordinator before this one.
    case recalled(String)

    package var sentence: String {
        switch self {
        case .none: "nothing measured yet"
        case .recalled(let sentence): sentence
        case .goodput(let measured, let threshold, let reference):
            if measured < threshold {
                if let reference {
                    "goodput \(MeasureText.rate(measured)) is below \(MeasureText.rate(threshold)), where "
                        + "\(MeasureText.rate(reference)) was usual"
                } else {
                    "goodput \(MeasureText.rate(measured)) is below \(MeasureText.rate(threshold))"
                }
            } else {
                "goodput \(MeasureText.rate(measured)), at least \(MeasureText.rate(threshold)) is good"
            }
        case .receiver(let count):
            "the receiver pauses \(count) transfer\(count == 1 ? "" : "s"): \(count == 1 ? "its" : "their") TCP "
                + "window\(count == 1 ? " is" : "s are") closed"
        case .unloaded(let measured): "\(MeasureText.rate(measured)), and no transfer waits in a queue"
        case .stalled(let count, let all, let threshold):
            "\(count) of \(all) transfers make no progress, \(MeasureText.percent(threshold)) are too many"
        case .errors(let share, let threshold):
            "\(MeasureText.percent(share)) of transfers failed for the link, \(MeasureText.percent(threshold)) are allowed"
        case .roundTrip(let measured, let threshold):
            "a round trip takes \(MeasureText.time(measured)), more than \(MeasureText.time(threshold))"
        case .queue(let measured, let threshold):
            "bytes stand \(MeasureText.time(measured)) in queues, more than \(MeasureText.time(threshold)), and goodput fell"
        case .slowServer(let time, let srtt):
            "the server takes \(MeasureText.time(time)) to its first byte; the round trip of \(MeasureText.time(srtt)) is fine"
        }
    }
}
