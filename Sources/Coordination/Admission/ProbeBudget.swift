internal import Commands

/// Bounds what is spent to find out which destinations are there, over all of them together: slots at once, and failed
/// attempts a second. Pure.
///
/// A command is a probe in this sense while its destination is offline, its circuit breaker is open, it has failed without an
/// answer since, or it has never answered. An attempt that is answered costs nothing: a network that is back opens thousands of
/// destinations at once.
struct ProbeBudget: Sendable {
    /// Failed attempts a second, and in one moment: about 5 % of a core for the coordinator (2 ms each, measured).
    static let rate = 25.0
    static let burst = 50.0

    private var tokens = burst
    private var filledAt: Int64 = 0
    private(set) var inFlight = 0

    /// Slots that probes may hold of so many: the rest is for destinations that answer.
    static func maxSlots(of slots: Int) -> Int { max(slots * 3 / 4, 4) }

    /// - Parameter isFailing: the destination's last attempt failed; where it is false, it was never tried.
    func admits(isFailing: Bool, slots: Int, now: Int64) -> Bool {
        inFlight < Self.maxSlots(of: slots) && (!isFailing || tokens(now: now) >= 1)
    }

    mutating func began(isFailing: Bool, now: Int64) {
        inFlight += 1
        guard isFailing else { return }
        tokens = tokens(now: now) - 1
        filledAt = now
    }

    mutating func ended(wasFailing: Bool, isAnswered: Bool, now: Int64) {
        inFlight -= 1
        guard wasFailing, isAnswered else { return }
        tokens = min(tokens(now: now) + 1, Self.burst)
        filledAt = now
    }

    /// Probes that may begin now.
    func free(slots: Int) -> Int { max(Self.maxSlots(of: slots) - inFlight, 0) }

    /// Failed attempts that may begin now, and are paid for.
    func free(slots: Int, now: Int64) -> Int { min(free(slots: slots), Int(tokens(now: now))) }

    /// When the next failed attempt is paid for; nil where one is already.
    func nextToken(now: Int64) -> Int64? {
        let missing = 1 - tokens(now: now)
        return missing > 0 ? now + Int64(missing / Self.rate * 1e9) + 1 : nil
    }

    private func tokens(now: Int64) -> Double {
        min(tokens + Double(max(now - filledAt, 0)) / 1e9 * Self.rate, Self.burst)
    }
}
