package import Host

/// How many transfers of middle and low quality one link should have: a hill climb on goodput. Pure.
///
/// It asks one question: did the last step raise the bytes per second of *all* transfers, or, where no bytes are counted,
/// their completions per second (``MeasureChoice``)? It doubles while that gains a
/// quarter (slow start), then holds, and from time to time tries a quarter more or a quarter fewer. The closest in
/// production are MongoDB 7's throughput probing and the plateau controller of huggingface.js. Limiters on duration
/// (Netflix Gradient2, Vegas, Envoy) do not fit, because a transfer's duration grows with its size and with the limit.
/// Loss is no signal: under 5 % of it more transfers are what helps, so fewer are not tried meanwhile.
///
/// The limit never rises without saturation: only after ticks in which it was what held transfers back. Ticks with high
/// quality in flight, or in which transfers were paced or paused, say nothing and are left out.
package struct ConcurrencyController: Sendable {
    package enum Phase: Sendable, Equatable {
        /// Doubling; `base` is the goodput before the last step, nil before the first is known.
        case slowStart(base: Double?)
        /// Slow start's last step had gained nothing; trying what was before it once more. The goodput then was of transfers
        /// that all began together, without the pauses between one and the next (four with bbr at 100 Mbit/s: 89 at first
        /// and then 80; eight: 87 to 90 and then 93; measured).
        case back(base: Double)
        /// Waiting for so long a time of evidence before the next trial; `doubting` is where slow start's last step began,
        /// where it gained nothing.
        case hold(left: Duration, doubting: Int? = nil)
        case up(base: Double)
        case down(base: Double)
    }

    /// Gains and times. Times are for round trips up to 250 ms, and grow with longer ones to four times that.
    package struct Tuning: Sendable, Equatable {
        package var initial = 4
        package var slowStartGain = 1.25
        /// A trial with more keeps what gains so much…
        package var keepUp = 1.015
        /// …and one with fewer what loses no more than this. 1.05 and 0.98 lost up to 2 points of goodput in 15 scenarios
        /// and gained in none (simulated, 20 seeds each).
        package var keepDown = 1.0
        package var settle: Duration = .seconds(1)
        package var slowStartWindow: Duration = .seconds(1)
        package var window: Duration = .seconds(3)
        /// Where completions are counted and not bytes, a window lasts until each slot had so many: transfers that began
        /// together also end together, and a window that begins just before an end counts one turn too many. Three still
        /// show a doubling as 1.33 times as many.
        package var turns = 3.0
        package var minHold: Duration = .seconds(5)
        package var maxHold: Duration = .seconds(60)

        package init() {}
    }

    package private(set) var limit: Int
    package private(set) var phase = Phase.slowStart(base: nil)
    /// A limit that was good before the link got worse; slow start comes back to it at once.
    package private(set) var remembered = 0
    private let tuning: Tuning
    /// To go back to, where a trial gains nothing.
    private var previous: Int
    /// Knows the usual throughput at this limit.
    private var detector = ChangeDetector()
    /// The last change that was detected, and when.
    package private(set) var lastChange: (change: LinkChange, at: MonotonicTime)?
    private var choice = MeasureChoice()
    private var holdTime: Duration
    /// Where the level or the policy held it last, although more were good; it goes back when they let it.
    private var cappedAt: Int?
    /// Slow start had found no limit yet when it was held.
    private var wasStarting = false
    private var triesUp = true
    private var settling = Duration.zero
    private var window = LinkWork()

    private static let shortRTT: Duration = .milliseconds(250)

    package init(tuning: Tuning = Tuning(), initial: Int? = nil) {
        self.tuning = tuning
        limit = max(initial ?? tuning.initial, 1)
        previous = limit
        holdTime = tuning.minHold
    }

    /// Takes a tick in.
    /// - Parameters:
    ///   - highest: what the level, the policy and the server allow.
    ///   - baseRTT: least round trip.
    ///   - isLossy: what holds transfers back is loss, so a fall is answered with more.
    ///   - mayRise: false where a queue has grown so long that more transfers would only lengthen it.
    /// - Returns: a change that the tick has made certain.
    @discardableResult package mutating func add(
        _ tick: LinkInterval, highest: Int, baseRTT: Duration?, isLossy: Bool = false, mayRise: Bool = true,
        now: MonotonicTime
    ) -> LinkChange? {
        let highest = max(highest, 1)
        if limit > highest {
            remembered = max(remembered, limit)
            cappedAt = highest
            wasStarting = wasStarting || isStarting
            detector.forget()
            move(to: highest)
            hold(for: holdTime)
        }
        let isSaturated = tick.isSaturated(at: limit)
        if isSaturated, let at = cappedAt, highest > at {
            cappedAt = remembered > highest ? highest : nil
            detector.forget()
            let isKnown = remembered > limit && !wasStarting
            wasStarting = false
            move(to: min(max(remembered, limit), highest))
            // What was held back before slow start had ended knows no better limit.
            phase = isKnown ? .hold(left: holdTime) : .slowStart(base: nil)
            return nil
        }
        if tick.hasHigh || tick.highRate > 0 || tick.isSteered {
            window = LinkWork()
            detector.startOver()
            settling = max(settling, tuning.settle)
            return nil
        }
        guard isSaturated else { return nil }
        if choice.add(tick) { learnAnew() }
        let change = detector.add(
            tick, by: choice.measure, limit: limit, completionsPerSlot: tuning.turns, isLossy: isLossy)
        if let change {
            lastChange = (change, now)
            if follow(change, highest: highest) { return change }
        }
        if isLowering, tick.fewest > limit { return change }
        if settling > .zero {
            settling -= tick.duration
            return change
        }
        window.add(tick)
        var needed = isStarting ? tuning.slowStartWindow : tuning.window
        if let baseRTT, baseRTT > Self.shortRTT { needed = needed * min(baseRTT / Self.shortRTT, 4) }
        guard window.duration >= needed, hasEnoughTurns else { return change }
        // It is not slow start that has found this limit, so it goes on when more are allowed.
        if isStarting, limit >= highest { cappedAt = highest }
        let work = window
        window = LinkWork()
        decide(work, highest: mayRise ? highest : min(highest, limit), hasLoss: tick.hasLoss)
        return change
    }

    /// Back to what worked, where this was a trial; else to seven tenths.
    package mutating func backOff() {
        let isTrial =
            switch phase {
            case .up, .slowStart(base: .some): previous < limit
            case .back, .down, .hold, .slowStart: false
            }
        move(to: isTrial ? previous : limit * 7 / 10)
        hold(for: holdTime)
        detector.forget()
    }

    /// The link is back, with as many as were good: from half of them four fifths of its goodput took more than 3 s
    /// (simulated).
    package mutating func resume() {
        restart()
        move(to: max(2, remembered))
    }

    /// Another link is there: slow start from half of what was good.
    package mutating func restart() {
        remembered = max(remembered, limit)
        move(to: max(2, remembered / 2))
        cappedAt = nil
        phase = .slowStart(base: nil)
        detector.forget()
        holdTime = tuning.minHold
        choice = MeasureChoice()
    }

    /// As another coordinator left it.
    package mutating func restore(limit: Int) { self.limit = max(limit, 1) }

    private var hasEnoughTurns: Bool {
        !window.isOfCompletions(by: choice.measure) || window.completions >= tuning.turns * Double(limit)
    }

    private var isStarting: Bool { if case .slowStart = phase { true } else { false } }

    /// A trial with fewer, which says nothing before those that are too many have ended.
    private var isLowering: Bool {
        switch phase {
        case .back, .down: true
        case .hold, .slowStart, .up: false
        }
    }

    /// Whether the tick shows less than usual, and not through the link's doing.
    func excuses(_ tick: LinkInterval) -> Bool { detector.excuses(tick, by: choice.measure) }

    /// - Returns: false where the change leaves everything as it is.
    private mutating func follow(_ change: LinkChange, highest: Int) -> Bool {
        switch change {
        case .receiver: return false
        case .capacity(let usual, let measured) where measured > usual:
            cappedAt = remembered > highest ? highest : nil
            move(to: min(max(2 * limit, remembered), highest))
            phase = .slowStart(base: nil)
        case .capacity(let usual, let measured):
            remembered = max(remembered, limit)
            move(to: Int((Double(limit) * max(measured / max(usual, 1), 0.25)).rounded(.up)))
            hold(for: tuning.window)
        case .loss(let usual, let measured, _):
            // As many as the same share each makes up for; slow start goes on from there.
            previous = limit
            move(to: min(Int((Double(limit) / max(measured / max(usual, 1), 0.25)).rounded(.up)), highest))
            phase = .slowStart(base: nil)
        case .demand:
            // Other transfers may need more of them.
            move(to: limit)
            phase = .slowStart(base: nil)
        case .steering:
            move(to: limit)
            hold(for: tuning.window)
        }
        holdTime = tuning.minHold
        detector.forget()
        return true
    }

    private mutating func decide(_ work: LinkWork, highest: Int, hasLoss: Bool) {
        let mean = work.throughput(by: choice.measure)
        switch phase {
        case .slowStart(let base):
            if let base, mean <= base * tuning.slowStartGain || limit >= highest {
                if cappedAt == nil { remembered = 0 }
                let gainedNothing = mean < base * tuning.keepUp && previous < limit
                phase = .hold(left: tuning.minHold, doubting: gainedNothing ? previous : nil)
            } else if limit >= highest {
                hold(for: tuning.minHold)
            } else {
                previous = limit
                phase = .slowStart(base: mean)
                move(to: min(2 * limit, highest))
            }
        case .back(let base):
            if mean * tuning.keepUp < base { move(to: min(previous, highest)) }
            hold(for: tuning.minHold)
        case .hold(let left, let doubted):
            detector.learn(work, by: choice.measure)
            if left > work.duration {
                phase = .hold(left: left - work.duration, doubting: doubted)
            } else {
                tryAnother(highest: highest, doubted: doubted, hasLoss: hasLoss)
            }
        case .up(let base):
            if mean > base * tuning.keepUp {
                keep(work)
            } else {
                goBack(thenUp: false)
            }
        case .down(let base):
            if mean >= base * tuning.keepDown {
                keep(work)
            } else {
                goBack(thenUp: true)
            }
        }
    }

    private mutating func tryAnother(highest: Int, doubted: Int?, hasLoss: Bool) {
        guard let usual = detector.usual?.throughput else { return }
        let step = max(1, (limit + 2) / 4)
        previous = limit
        if let before = doubted, before < limit {
            phase = .back(base: usual)
            detector.forget()
            move(to: before)
        } else if triesUp || hasLoss, limit < highest {
            phase = .up(base: usual)
            move(to: min(limit + step, highest))
        } else if limit > 1, !hasLoss {
            phase = .down(base: usual)
            move(to: max(limit - step, 1))
        } else {
            triesUp = true
            hold(for: holdTime)
        }
    }

    private mutating func keep(_ work: LinkWork) {
        detector.forget()
        detector.learn(work, by: choice.measure)
        holdTime = tuning.minHold
        hold(for: tuning.window)
    }

    private mutating func goBack(thenUp: Bool) {
        move(to: previous)
        triesUp = thenUp
        holdTime = min(holdTime * 2, tuning.maxHold)
        hold(for: holdTime)
    }

    /// What was measured says nothing any more; the limit may be right all the same.
    private mutating func learnAnew() {
        detector.forget()
        window = LinkWork()
        switch phase {
        case .slowStart: phase = .slowStart(base: nil)
        case .back, .hold, .up, .down: hold(for: tuning.minHold)
        }
    }

    private mutating func hold(for time: Duration) { phase = .hold(left: time) }

    private mutating func move(to limit: Int) {
        self.limit = max(limit, 1)
        window = LinkWork()
        detector.startOver()
        settling = tuning.settle
    }
}
