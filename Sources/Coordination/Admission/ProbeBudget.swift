internal import Commands
internal import Host

/// Bounds the attempts to find out which destinations answer, over all of them together: slots at once, and
/// failed attempts a second. Pure.
///
/// A command is a probe in this sense while its destination is offline, has an open circuit breaker, has
/// failed without an answer since, or has never answered. An attempt that is answered costs nothing, because
/// a network that is back brings back thousands of destinations at once.
///
/// Destinations that failed hold at most half of the slots. Each attempt may last as long as a connect, 10 s, or a
/// look-up, 40 s, and a destination that was never tried would wait for their ends.
///
/// High QoS has a budget of its own (``ByProbeBudget``), as it has slots of its own: without a bound, 32 high commands to
/// dead destinations held every slot of two workers of 8 for 40 s, and a living one of any class waited for their ends.
struct ProbeBudget: Sendable {
    /// Failed attempts a second, and in one moment: about 5 % of a core for the coordinator (2 ms each,
    /// measured).
    static let rate = 25.0
    static let burst = 50.0

    private var tokens = burst
    private var filledAt = MonotonicTime.zero
    private(set) var inFlight = 0
    private var failingInFlight = 0

    /// Slots that probes may hold; the other slots are for destinations that answer.
    static func maxSlots(of slots: Int) -> Int { max(slots * 3 / 4, 4) }

    /// Of these, the slots that failing destinations may hold.
    static func maxFailingSlots(of slots: Int) -> Int { maxSlots(of: slots) / 2 }

    /// - Parameter isFailing: whether the destination's last attempt failed; otherwise it was never tried.
    func admits(isFailing: Bool, slots: Int, now: MonotonicTime) -> Bool {
        isFailing ? free(slots: slots, now: now) > 0 : free(slots: slots) > 0
    }

    mutating func began(isFailing: Bool, now: MonotonicTime) {
        inFlight += 1
        guard isFailing else { return }
        failingInFlight += 1
        tokens = tokens(now: now) - 1
        filledAt = now
    }

    mutating func ended(wasFailing: Bool, isAnswered: Bool, now: MonotonicTime) {
        inFlight -= 1
        if wasFailing { failingInFlight -= 1 }
        guard wasFailing, isAnswered else { return }
        tokens = min(tokens(now: now) + 1, Self.burst)
        filledAt = now
    }

    /// Probes that may begin now.
    func free(slots: Int) -> Int { max(Self.maxSlots(of: slots) - inFlight, 0) }

    /// Attempts at failing destinations that may begin now, but for the rate.
    func freeForFailing(slots: Int) -> Int {
        min(free(slots: slots), max(Self.maxFailingSlots(of: slots) - failingInFlight, 0))
    }

    /// Attempts at failing destinations that may begin now within the rate.
    func free(slots: Int, now: MonotonicTime) -> Int { min(freeForFailing(slots: slots), Int(tokens(now: now))) }

    /// When the rate allows the next attempt at a failing destination; nil where it does now.
    func nextToken(now: MonotonicTime) -> MonotonicTime? {
        let missing = 1 - tokens(now: now)
        return missing > 0 ? now + .seconds(missing / Self.rate) + .nanoseconds(1) : nil
    }

    private func tokens(now: MonotonicTime) -> Double {
        min(tokens + max(now - filledAt, .zero).seconds * Self.rate, Self.burst)
    }
}

/// One value for high QoS, and one for middle and low QoS together: the budgets for probes, and what waits for them.
struct ByProbeBudget<Value: Sendable>: Sendable {
    private(set) var high: Value
    private(set) var others: Value

    init(high: Value, others: Value) { (self.high, self.others) = (high, others) }
    /// Both begin alike.
    init(_ value: Value) { self.init(high: value, others: value) }

    subscript(isHigh isHigh: Bool) -> Value {
        get { isHigh ? high : others }
        _modify {
            if isHigh { yield &high } else { yield &others }
        }
    }
}
