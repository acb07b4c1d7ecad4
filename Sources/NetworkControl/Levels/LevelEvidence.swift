/// What a level was judged by: the measure and the threshold, for the sentence that `explain` prints.
package enum LevelEvidence: Sendable, Equatable {
    case none
    /// Bytes per second. `reference` is what so many transfers had; nil where the threshold is a fixed one.
    case goodput(measured: Double, threshold: Double, reference: Double?)
    /// `threshold` is a share of them.
    case stalled(count: Int, of: Int, threshold: Double)
    case errors(share: Double, threshold: Double)
    /// A round trip, where no transfer shows a goodput.
    case roundTrip(measured: Duration, threshold: Duration)
    /// The delay in a queue, with a goodput that has fallen too.
    case queue(measured: Duration, threshold: Duration)
    /// The first byte is late and the round trip is not: the server's doing, and no reason for a worse level.
    case slowServer(timeToFirstByte: Duration, srtt: Duration)
    /// Receivers have closed their TCP windows: their doing as well.
    case receiver(count: Int)
    /// An uplink in which nobody waits, in bytes per second.
    case unloaded(measured: Double)
    /// In the words of the coordinator before this one.
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
        case .unloaded(let measured): "\(MeasureText.rate(measured)), and nobody waits in a queue"
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
