package import Host

/// How many transfers of middle and low quality one link should have: a hill climb on goodput. Pure.
///
/// It asks one question: did the last step raise the bytes per second of *all* transfers, or, where no bytes
/// are counted, their completions per second (``MeasureChoice``)? It doubles the limit while that gains a
/// quarter (slow start), then holds it, and from time to time tries a quarter more or a quarter fewer. The
/// closest in production are MongoDB 7's throughput probing and the plateau controller of huggingface.js.
/// Limiters on duration (Netflix Gradient2, Vegas, Envoy) do not fit, because a transfer's duration grows
/// with its size and with the limit. Loss is not a signal: at 5 % of it more transfers help, so fewer are not
/// tried meanwhile.
///
/// The limit rises only after intervals in which it was what held transfers back (saturation). Intervals with
/// high quality in flight, or in which transfers were paced or paused, say nothing and are left out.
package struct ConcurrencyController: Sendable {
    package enum Phase: Sendable, Equatable {
        /// Doubles; `base` is the goodput before the last step, nil until the first is known.
        case slowStart(base: Double?)
        /// The last step of slow start gained nothing, so the limit before it is tried once more. Its goodput
        /// was of transfers that all began together, without the pauses between one and the next (four with
        /// bbr at 100 Mbit/s: 89 at first and then 80; eight: 87 to 90 and then 93; measured).
        case back(base: Double)
        /// Waits for evidence of the time `left` before the next trial. `doubting` is the limit before the
        /// last step of slow start, if that gained nothing.
        case hold(left: Duration, doubting: Int? = nil)
        case up(base: Double)
        case down(base: Double)
    }

    /// Gains and times. Times hold for round trips up to 250 ms, and grow with longer ones to four times
    /// their value.
    package struct Tuning: Sendable, Equatable {
        package var initial = 4
        package var slowStartGain = 1.25
        /// A trial with more is kept from this gain on…
        package var keepUp = 1.015
        /// …and one with fewer down to this loss. 1.05 and 0.98 lost up to 2 points of goodput in 15
        /// scenarios and gained in none (simulated, 20 seeds each).
        package var keepDown = 1.0
        package var settle: Duration = .seconds(1)
        package var slowStartWindow: Duration = .seconds(1)
        package var window: Duration = .seconds(3)
        /// Where completions are counted and not bytes, a window lasts until each slot had this number of
        /// them. Transfers that began together also end together, and a window that begins just before an end
        /// counts one completion too many. With three, a doubling still shows as 1.33 times as many.
        package var minCompletionsPerSlot = 3.0
        package var minHold: Duration = .seconds(5)
        package var maxHold: Duration = .seconds(60)

        package init() {}
    }

    package private(set) var limit: Int
    package private(set) var phase = Phase.slowStart(base: nil)
    /// A limit that was good before the link got worse; slow start returns to it at once.
    package private(set) var remembered = 0
    private let tuning: Tuning
    /// The limit before a trial, to return to if the trial gains nothing.
    private var previous: Int
    /// Knows the usual throughput at this limit.
    private var detector = ChangeDetector()
    /// The last change that was detected, and when.
    package private(set) var lastChange: (change: LinkChange, at: MonotonicTime)?
    private var choice = MeasureChoice()
    private var holdTime: Duration
    /// The cap of the level or the policy, if a higher limit was good; the limit returns when the cap is
    /// lifted.
    private var cappedAt: Int?
    /// Slow start had found no limit yet when the cap held it.
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

    /// Takes in an interval.
    /// - Parameters:
    ///   - maxLimit: what the level, the policy and the server allow.
    ///   - baseRTT: the least round trip.
    ///   - isLossy: loss holds the transfers back, so a fall is answered with more of them.
    ///   - mayRise: false where more transfers would only lengthen a long queue.
    /// - Returns: a change that the interval has made certain.
    @discardableResult package mutating func add(
        _ interval: LinkInterval, maxLimit: Int, baseRTT: Duration?, isLossy: Bool = false, mayRise: Bool = true,
        now: MonotonicTime
    ) -> LinkChange? {
        let maxLimit = max(maxLimit, 1)
        if limit > maxLimit {
            remembered = max(remembered, limit)
            cappedAt = maxLimit
            wasStarting = wasStarting || isStarting
            detector.forget()
            move(to: maxLimit)
            hold(for: holdTime)
        }
        let isSaturated = interval.isSaturated(at: limit)
        if isSaturated, let at = cappedAt, maxLimit > at {
            cappedAt = remembered > maxLimit ? maxLimit : nil
            detector.forget()
            let isKnown = remembered > limit && !wasStarting
            wasStarting = false
            move(to: min(max(remembered, limit), maxLimit))
            // A limit that was capped before slow start had ended is not known to be good.
            phase = isKnown ? .hold(left: holdTime) : .slowStart(base: nil)
            return nil
        }
        if interval.hasHigh || interval.highRate > 0 || interval.isSteered {
            window = LinkWork()
            detector.startOver()
            settling = max(settling, tuning.settle)
            return nil
        }
        guard isSaturated else { return nil }
        if choice.add(interval) { learnAnew() }
        let change = detector.add(
            interval, by: choice.measure, limit: limit, completionsPerSlot: tuning.minCompletionsPerSlot,
            isLossy: isLossy)
        if let change {
            lastChange = (change, now)
            if follow(change, maxLimit: maxLimit) { return change }
        }
        if isLowering, interval.minInFlight > limit { return change }
        if settling > .zero {
            settling -= interval.duration
            return change
        }
        window.add(interval)
        var needed = isStarting ? tuning.slowStartWindow : tuning.window
        if let baseRTT, baseRTT > Self.shortRTT { needed = needed * min(baseRTT / Self.shortRTT, 4) }
        guard window.duration >= needed, hasEnoughCompletions else { return change }
        // Slow start has not found this limit, so it continues when more are allowed.
        if isStarting, limit >= maxLimit { cappedAt = maxLimit }
        let work = window
        window = LinkWork()
        decide(work, maxLimit: mayRise ? maxLimit : min(maxLimit, limit), hasLoss: interval.hasLoss)
        return change
    }

    /// Returns to the limit before a trial, or to seven tenths where there is none.
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

    /// The link is back, with the limit that was good: from half of it, four fifths of the goodput took more
    /// than 3 s (simulated).
    package mutating func resume() {
        restart()
        move(to: max(2, remembered))
    }

    /// Another link is there: slow start from half of the limit that was good.
    package mutating func restart() {
        remembered = max(remembered, limit)
        move(to: max(2, remembered / 2))
        cappedAt = nil
        phase = .slowStart(base: nil)
        detector.forget()
        holdTime = tuning.minHold
        choice = MeasureChoice()
    }

    /// Continues from another coordinator's limit.
    package mutating func restore(limit: Int) { self.limit = max(limit, 1) }

    private var hasEnoughCompletions: Bool {
        !window.isOfCompletions(by: choice.measure)
            || window.completions >= tuning.minCompletionsPerSlot * Double(limit)
    }

    private var isStarting: Bool { if case .slowStart = phase { true } else { false } }

    /// A trial with fewer transfers, which says nothing until the surplus has ended.
    private var isLowering: Bool {
        switch phase {
        case .back, .down: true
        case .hold, .slowStart, .up: false
        }
    }

    /// Whether the interval shows less than usual for a cause other than the link.
    func excuses(_ interval: LinkInterval) -> Bool { detector.excuses(interval, by: choice.measure) }

    /// - Returns: false where the change does not matter to the limit.
    private mutating func follow(_ change: LinkChange, maxLimit: Int) -> Bool {
        switch change {
        case .receiver: return false
        case .capacity(let usual, let measured) where measured > usual:
            cappedAt = remembered > maxLimit ? maxLimit : nil
            move(to: min(max(2 * limit, remembered), maxLimit))
            phase = .slowStart(base: nil)
        case .capacity(let usual, let measured):
            remembered = max(remembered, limit)
            move(to: Int((Double(limit) * max(measured / max(usual, 1), 0.25)).rounded(.up)))
            hold(for: tuning.window)
        case .loss(let usual, let measured, _):
            // More transfers make up for the smaller share of each; slow start continues from there.
            previous = limit
            move(to: min(Int((Double(limit) / max(measured / max(usual, 1), 0.25)).rounded(.up)), maxLimit))
            phase = .slowStart(base: nil)
        case .demand:
            // Transfers of another size may need another limit.
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

    private mutating func decide(_ work: LinkWork, maxLimit: Int, hasLoss: Bool) {
        let mean = work.throughput(by: choice.measure)
        switch phase {
        case .slowStart(let base):
            if let base, mean <= base * tuning.slowStartGain || limit >= maxLimit {
                if cappedAt == nil { remembered = 0 }
                let gainedNothing = mean < base * tuning.keepUp && previous < limit
                phase = .hold(left: tuning.minHold, doubting: gainedNothing ? previous : nil)
            } else if limit >= maxLimit {
                hold(for: tuning.minHold)
            } else {
                previous = limit
                phase = .slowStart(base: mean)
                move(to: min(2 * limit, maxLimit))
            }
        case .back(let base):
            if mean * tuning.keepUp < base { move(to: min(previous, maxLimit)) }
            hold(for: tuning.minHold)
        case .hold(let left, let doubted):
            detector.learn(work, by: choice.measure)
            if left > work.duration {
                phase = .hold(left: left - work.duration, doubting: doubted)
            } else {
                tryAnother(maxLimit: maxLimit, doubted: doubted, hasLoss: hasLoss)
            }
        case .up(let base):
            if mean > base * tuning.keepUp {
                accept(work)
            } else {
                goBack(thenUp: false)
            }
        case .down(let base):
            if mean >= base * tuning.keepDown {
                accept(work)
            } else {
                goBack(thenUp: true)
            }
        }
    }

    private mutating func tryAnother(maxLimit: Int, doubted: Int?, hasLoss: Bool) {
        guard let usual = detector.usual?.throughput else { return }
        let step = max(1, (limit + 2) / 4)
        previous = limit
        if let before = doubted, before < limit {
            phase = .back(base: usual)
            detector.forget()
            move(to: before)
        } else if triesUp || hasLoss, limit < maxLimit {
            phase = .up(base: usual)
            move(to: min(limit + step, maxLimit))
        } else if limit > 1, !hasLoss {
            phase = .down(base: usual)
            move(to: max(limit - step, 1))
        } else {
            triesUp = true
            hold(for: holdTime)
        }
    }

    private mutating func accept(_ work: LinkWork) {
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

    /// Forgets what was measured; the limit may still be right.
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
