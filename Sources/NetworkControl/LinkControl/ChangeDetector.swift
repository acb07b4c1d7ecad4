internal import Commands

/// Notices that a saturated link carries another amount than usual, and tells the causes apart in one place.
/// Pure.
///
/// A fall of the goodput alone says nothing of the link: when files of 1 kB follow files of 1 MB, goodput
/// falls to a hundredth, and each slot completes four times as many. So the completions decide: if each slot
/// completes as many as usual, the demand has fallen. There must be one completion for each transfer in
/// flight, because transfers that waited for their answer when a link failed still end as usual.
struct ChangeDetector: Sendable {
    struct Tuning: Sendable, Equatable {
        /// How long a change must last.
        var minDuration: Duration = .seconds(1)
        /// Shares of the usual throughput below and above which there is a change.
        var fall = 0.5
        var rise = 1.3
        /// Transfers end as often as usual from this share of the usual completion rate on.
        var sameCompletionRate = 0.8
        /// How long a fall waits for the completions to decide.
        var maxWait: Duration = .seconds(4)
        /// Completions that must have been due before their absence shows larger files.
        var minDueCompletions = 8.0
    }

    /// The usual throughput of the link at its present limit.
    struct Baseline: Sendable, Equatable {
        /// See ``LinkWork/throughput(by:)``.
        var throughput: Double
        /// Completions per second of each transfer in flight.
        var completionRate: Double
        var isOfCompletions: Bool
    }

    private(set) var usual: Baseline?
    private let tuning: Tuning
    /// Consecutive intervals outside the band, on one side of it.
    private var outside = LinkWork()
    private var isAbove = false

    init(tuning: Tuning = Tuning()) { self.tuning = tuning }

    /// Takes in what was measured, with a weight of three tenths where a baseline is known.
    mutating func learn(_ work: LinkWork, by measure: WorkMeasure) {
        let new = Baseline(
            throughput: work.throughput(by: measure), completionRate: work.completionRate,
            isOfCompletions: work.isOfCompletions(by: measure))
        usual = usual.map {
            Baseline(
                throughput: 0.7 * $0.throughput + 0.3 * new.throughput,
                completionRate: 0.7 * $0.completionRate + 0.3 * new.completionRate,
                isOfCompletions: new.isOfCompletions)
        }
        usual = usual ?? new
    }

    /// The baseline does not apply any more.
    mutating func forget() {
        usual = nil
        startOver()
    }

    /// The intervals so far do not apply any more.
    mutating func startOver() { outside = LinkWork() }

    /// Takes in an interval of a saturated link.
    /// - Parameters:
    ///   - limit: transfers that may run.
    ///   - completionsPerSlot: how many completions of each slot must show a change, where they are the
    ///     measure.
    ///   - isLossy: loss, and not a queue, holds the transfers back.
    /// - Returns: the change, once it has lasted long enough and its cause is known.
    mutating func add(
        _ interval: LinkInterval, by measure: WorkMeasure, limit: Int, completionsPerSlot: Double, isLossy: Bool
    ) -> LinkChange? {
        guard let usual, isOutside(interval, usual, by: measure) else {
            startOver()
            return nil
        }
        extend(by: interval, usual, by: measure)
        // Between two completions of long commands nothing has changed.
        let completionTime = usual.isOfCompletions ? Double(limit) * LinkWork.headBytes / max(usual.throughput, 1) : 0
        guard outside.duration >= tuning.minDuration, outside.duration.seconds >= completionsPerSlot * completionTime
        else {
            return nil
        }
        let change = cause(interval, usual, by: measure, isLossy: isLossy)
        if change != nil { startOver() }
        return change
    }

    /// Whether the interval shows a fall that the link did not cause, before it has lasted long enough to be
    /// a change.
    func excuses(_ interval: LinkInterval, by measure: WorkMeasure) -> Bool {
        guard !interval.isAtMaxRate else { return true }
        guard let usual, isOutside(interval, usual, by: measure) else { return false }
        var copy = self
        copy.extend(by: interval, usual, by: measure)
        return !copy.isAbove && copy.isDemand(usual)
    }

    private func isOutside(_ interval: LinkInterval, _ usual: Baseline, by measure: WorkMeasure) -> Bool {
        var one = LinkWork()
        one.add(interval)
        let share = one.throughput(by: measure) / max(usual.throughput, 1)
        return share < tuning.fall || share > tuning.rise
    }

    private mutating func extend(by interval: LinkInterval, _ usual: Baseline, by measure: WorkMeasure) {
        var one = LinkWork()
        one.add(interval)
        let isAbove = one.throughput(by: measure) > usual.throughput
        if isAbove != self.isAbove { startOver() }
        self.isAbove = isAbove
        outside.add(interval)
    }

    /// Since the fall began, each transfer in flight was followed by another, and they end as often as usual.
    private func isDemand(_ usual: Baseline) -> Bool {
        !usual.isOfCompletions && outside.completions >= max(outside.transfers, 1)
            && outside.completionRate >= tuning.sameCompletionRate * usual.completionRate
    }

    private func cause(_ interval: LinkInterval, _ usual: Baseline, by measure: WorkMeasure, isLossy: Bool)
        -> LinkChange?
    {
        let measured = outside.throughput(by: measure)
        let demand = LinkChange.demand(
            usual: usual.throughput, measured: measured, completionRate: outside.completionRate,
            usualCompletionRate: usual.completionRate)
        if interval.isAtMaxRate { return .steering(usual: usual.throughput, measured: measured) }
        if isAbove {
            let due = usual.completionRate * outside.transfers * outside.duration.seconds
            let isDemand =
                !usual.isOfCompletions && due >= tuning.minDueCompletions
                && outside.completionRate <= 0.5 * usual.completionRate
            return isDemand ? demand : .capacity(usual: usual.throughput, measured: measured)
        }
        if interval.heldByReceiver > 0, interval.heldByReceiver >= interval.flowing {
            return .receiver(count: interval.heldByReceiver, transfers: interval.heldByReceiver + interval.flowing)
        }
        if isDemand(usual) { return demand }
        let mayBeDemand =
            !usual.isOfCompletions
            && outside.completionRate
                >= max(tuning.sameCompletionRate * usual.completionRate, 1 / tuning.maxWait.seconds)
        if mayBeDemand, outside.duration < tuning.maxWait { return nil }
        if isLossy { return .loss(usual: usual.throughput, measured: measured, share: interval.loss) }
        return .capacity(usual: usual.throughput, measured: measured)
    }
}

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
