internal import Commands

/// Notices that a saturated link carries another amount than usual, and tells the causes apart in one place.
/// Pure.
///
/// A fall of the goodput alone says nothing of the link: when files of 1 MB are followed by files of 1 kB,
/// goodput falls to a hundredth, and each slot completes four times as many. So the completions decide: where
/// each slot completes as many as usual, the demand has fallen. They must be enough to show it: one for each
/// transfer in flight, because those that were waiting for their answer when a link failed still end as
/// usual.
struct ChangeDetector: Sendable {
    struct Tuning: Sendable, Equatable {
        /// How long a change must last.
        var minDuration: Duration = .seconds(1)
        /// Shares of the usual throughput below and above which there is a change.
        var fall = 0.5
        var rise = 1.3
        /// Transfers end as often as usual from this share on.
        var sameTurns = 0.8
        /// How long a fall waits for the completions to decide.
        var maxWait: Duration = .seconds(4)
        /// Completions that must have been due before their absence shows larger files.
        var enough = 8.0
    }

    /// What the link usually does, at its present limit.
    struct Usual: Sendable, Equatable {
        /// See ``LinkWork/throughput(by:)``.
        var throughput: Double
        /// Completions per second of each transfer in flight.
        var turns: Double
        var isOfCompletions: Bool
    }

    private(set) var usual: Usual?
    private let tuning: Tuning
    /// Ticks outside the band in a row, on one side of it.
    private var outside = LinkWork()
    private var isAbove = false

    init(tuning: Tuning = Tuning()) { self.tuning = tuning }

    /// Takes what was measured in, three tenths of it where something was known.
    mutating func learn(_ work: LinkWork, by measure: WorkMeasure) {
        let new = Usual(
            throughput: work.throughput(by: measure), turns: work.turns,
            isOfCompletions: work.isOfCompletions(by: measure))
        usual = usual.map {
            Usual(
                throughput: 0.7 * $0.throughput + 0.3 * new.throughput, turns: 0.7 * $0.turns + 0.3 * new.turns,
                isOfCompletions: new.isOfCompletions)
        }
        usual = usual ?? new
    }

    /// What was usual says nothing any more.
    mutating func forget() {
        usual = nil
        startOver()
    }

    /// The ticks before this one say nothing.
    mutating func startOver() { outside = LinkWork() }

    /// Takes a tick of a saturated link in.
    /// - Parameters:
    ///   - limit: transfers that may run.
    ///   - completionsPerSlot: how many a change must be seen by, where completions are the measure.
    ///   - isLossy: loss, and not a queue, holds the transfers back.
    /// - Returns: the change, once it has lasted long enough and its cause is known.
    mutating func add(
        _ tick: LinkInterval, by measure: WorkMeasure, limit: Int, completionsPerSlot: Double, isLossy: Bool
    ) -> LinkChange? {
        guard let usual, isOutside(tick, usual, by: measure) else {
            startOver()
            return nil
        }
        extend(by: tick, usual, by: measure)
        // Between two completions of long commands nothing has changed.
        let turn = usual.isOfCompletions ? Double(limit) * LinkWork.headBytes / max(usual.throughput, 1) : 0
        guard outside.duration >= tuning.minDuration, outside.duration.seconds >= completionsPerSlot * turn else {
            return nil
        }
        let change = cause(tick, usual, by: measure, isLossy: isLossy)
        if change != nil { startOver() }
        return change
    }

    /// Whether the tick shows a fall that is not the link's doing, before it has lasted long enough to be a
    /// change.
    func excuses(_ tick: LinkInterval, by measure: WorkMeasure) -> Bool {
        guard !tick.isAtMaxRate else { return true }
        guard let usual, isOutside(tick, usual, by: measure) else { return false }
        var copy = self
        copy.extend(by: tick, usual, by: measure)
        return !copy.isAbove && copy.isDemand(usual)
    }

    private func isOutside(_ tick: LinkInterval, _ usual: Usual, by measure: WorkMeasure) -> Bool {
        var one = LinkWork()
        one.add(tick)
        let share = one.throughput(by: measure) / max(usual.throughput, 1)
        return share < tuning.fall || share > tuning.rise
    }

    private mutating func extend(by tick: LinkInterval, _ usual: Usual, by measure: WorkMeasure) {
        var one = LinkWork()
        one.add(tick)
        let isAbove = one.throughput(by: measure) > usual.throughput
        if isAbove != self.isAbove { startOver() }
        self.isAbove = isAbove
        outside.add(tick)
    }

    /// Each transfer in flight has been followed by another since the fall began, and they end as often as
    /// usual.
    private func isDemand(_ usual: Usual) -> Bool {
        !usual.isOfCompletions && outside.completions >= max(outside.transfers, 1)
            && outside.turns >= tuning.sameTurns * usual.turns
    }

    private func cause(_ tick: LinkInterval, _ usual: Usual, by measure: WorkMeasure, isLossy: Bool) -> LinkChange? {
        let measured = outside.throughput(by: measure)
        let demand = LinkChange.demand(
            usual: usual.throughput, measured: measured, turns: outside.turns, usualTurns: usual.turns)
        if tick.isAtMaxRate { return .steering(usual: usual.throughput, measured: measured) }
        if isAbove {
            let due = usual.turns * outside.transfers * outside.duration.seconds
            let isDemand = !usual.isOfCompletions && due >= tuning.enough && outside.turns <= 0.5 * usual.turns
            return isDemand ? demand : .capacity(usual: usual.throughput, measured: measured)
        }
        if tick.heldByReceiver > 0, tick.heldByReceiver >= tick.flowing {
            return .receiver(count: tick.heldByReceiver, transfers: tick.heldByReceiver + tick.flowing)
        }
        if isDemand(usual) { return demand }
        let mayBeDemand =
            !usual.isOfCompletions && outside.turns >= max(tuning.sameTurns * usual.turns, 1 / tuning.maxWait.seconds)
        if mayBeDemand, outside.duration < tuning.maxWait { return nil }
        if isLossy { return .loss(usual: usual.throughput, measured: measured, share: tick.loss) }
        return .capacity(usual: usual.throughput, measured: measured)
    }
}
