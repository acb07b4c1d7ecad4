internal import Commands
internal import Host

/// What sets the pace of each quality on one link: a person's `maxRate`, or a decision of the controller.
/// Workers report that a transfer waited for its pace, and the coordinator knows which pace it sent. Pure.
struct PaceOrigin: Sendable {
    /// Since when `maxRate` is below every other pace, by quality.
    private var maxRateSince: [QualityOfService: MonotonicTime] = [:]

    /// A worker's report may still tell of the pace before: two reports.
    private static let reportsLag: Duration = .milliseconds(500)

    mutating func set(_ qos: QualityOfService, isMaxRate: Bool, now: MonotonicTime) {
        if !isMaxRate { maxRateSince[qos] = nil } else if maxRateSince[qos] == nil { maxRateSince[qos] = now }
    }

    /// What a transfer of this quality waited for, according to its last report, was a person's `maxRate`.
    func isMaxRate(_ qos: QualityOfService, now: MonotonicTime) -> Bool {
        maxRateSince[qos].map { now - $0 >= Self.reportsLag } ?? false
    }
}
