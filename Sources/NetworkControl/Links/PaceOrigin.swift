internal import Commands
internal import Host

/// The origin of the pace of each quality on one link: a person's `maxRate`, or a decision of the controller.
/// Workers report that a transfer waited for its pace; only the coordinator knows which pace it sent. Pure.
struct PaceOrigin: Sendable {
    /// Since when `maxRate` is below every other pace, by quality.
    private var maxRateSince: [QualityOfService: MonotonicTime] = [:]

    /// A worker's report may still be about the pace before: two reports.
    private static let reportDelay: Duration = .milliseconds(500)

    mutating func set(_ qos: QualityOfService, isMaxRate: Bool, now: MonotonicTime) {
        if !isMaxRate { maxRateSince[qos] = nil } else if maxRateSince[qos] == nil { maxRateSince[qos] = now }
    }

    /// Whether transfers of this quality waited for a person's `maxRate`, according to their last report.
    func isMaxRate(_ qos: QualityOfService, now: MonotonicTime) -> Bool {
        maxRateSince[qos].map { now - $0 >= Self.reportDelay } ?? false
    }
}
