package import Commands
package import Host

/// How many requests of all classes a server takes at once, found by what it accepts and refuses (429, 503).
/// Pure.
///
/// The limit doubles in a round while every request is accepted. A refusal lowers it to what was in flight
/// beside the refused request, unless one URL seems to be the cause:
/// * The command was refused before. A request that was refused for the number is accepted later.
/// * Most commands that were sent again after a refusal were refused again, and of the others at most half as
///   many. Where both are refused alike, the number is the cause: a server that takes six while eight are
///   sent refuses most of either.
/// * The server refuses few requests at that number or above it, or as many below it. One count of what it
///   accepted at once shows nothing: a server that takes six has six most of the time while seven are in
///   flight, because an answer takes half a round trip to arrive, and it refuses one of ten (simulated).
///
/// The number is tried again as soon as others are accepted, and then after 1, 4, 15, 60 and 120 s. From the
/// second refusal on, nothing new is sent to the destination for a moment.
///
/// If every request is refused, or eight in a row, the server takes fewer than before, whatever it accepted
/// until then.
package struct PushbackLimit: Sendable, Equatable {
    package private(set) var limit = 4

    /// A number of requests at which the server refused one.
    private struct Barrier: Sendable, Equatable {
        var refusedAt: Int
        /// When the server refused last.
        var at: MonotonicTime
        /// How often it refused, without requests that were under way at the last refusal.
        var strikes = 1
        /// Requests that were accepted at the number, or above it, since then.
        var accepted = 0
        /// Enough requests were accepted for the limit to pass it. If the server refuses near it again, it
        /// counts again.
        var isPassed = false

        /// How long the number is not tried.
        var wait: Duration { PushbackLimit.waits[min(strikes, PushbackLimit.waits.count) - 1] }
    }

    private var lastBarrier: Barrier?
    private var refusedLast: MonotonicTime?
    /// Requests that were neither accepted nor refused yet, and when they were sent.
    private var undecided: [CommandID: MonotonicTime] = [:]
    /// Of these, the ones that were not refused for ``creditDelay`` and have raised the limit.
    private var credited: Set<CommandID> = []
    /// Requests in flight that have counted as accepted.
    private var accepted: Set<CommandID> = []
    private var tally = RefusalTally()
    /// Commands that were refused and have not been accepted since.
    private var refusedBefore: Set<CommandID> = []
    /// Share of commands sent again after a refusal that were refused again: an average of about the last
    /// eight.
    private var repeatedRefusalShare = 0.0
    /// The same share of commands that were sent for the first time.
    private var firstRefusalShare = 0.0
    /// Commands that were refused since the last acceptance.
    private var refusedInARow: Set<CommandID> = []
    private var acceptedLast: MonotonicTime?
    /// From one acceptance to the next: a moving average, a tenth of it the last one.
    private var meanInterval = Duration.zero

    /// How long nothing new is sent after a refusal.
    package static let pause: Duration = .milliseconds(250)
    private static let creditDelay: Duration = .seconds(1)
    /// How long a number is not tried, by strikes.
    private static let waits: [Duration] = [0, 1, 4, 15, 60, 120].map { .seconds($0) }
    private static let refusalsInARow = 3
    /// A number of refusals in a row that is not chance.
    private static let certainInARow = 8
    /// Three refusals in a row count only after this number of usual intervals without an acceptance: at 75
    /// acceptances a second they are chance.
    private static let silentIntervals = 2
    private static let maxInterval: Duration = .seconds(1)
    private static let refusalShareWeight = 0.125
    private static let maxRefused = 4096
    /// A refusal near a barrier, within this time of its last, counts for that barrier.
    private static let barrierLifetime: Duration = .seconds(60)
    private static let maxUndecided = 1024
    private static let undecidedTime: Duration = .seconds(10)

    package init() {}

    private var barrier: Barrier? { lastBarrier.flatMap { $0.isPassed ? nil : $0 } }

    // MARK: Whether a request may go

    /// The server refused for the number a moment ago: nothing new is sent, of any class.
    package func isPausing(now: MonotonicTime) -> Bool { refusedLast.map { now - $0 < Self.pause } ?? false }

    /// The server has refused for the number, so the limit is what it takes.
    package var isBarred: Bool { barrier != nil }

    /// It has refused at that number more than once: one refusal may be caused by one URL.
    package var isConfirmed: Bool { barrier.map { $0.strikes > 1 } ?? false }

    /// Requests in flight, as far as they were reported.
    package var inFlight: Int { undecided.count + accepted.count }

    // MARK: Events

    /// A request goes out.
    package mutating func sent(_ id: CommandID, now: MonotonicTime) {
        // Requests whose end was never reported.
        if undecided.count >= Self.maxUndecided { undecided = undecided.filter { now - $0.value < Self.undecidedTime } }
        undecided[id] = now
    }

    /// A request was cancelled, preempted or lost its connection: that says nothing of the number.
    package mutating func ended(_ id: CommandID) {
        undecided[id] = nil
        accepted.remove(id)
    }

    /// Forgets requests that no worker reports any more.
    package mutating func retain(_ reported: Set<CommandID>) { accepted.formIntersection(reported) }

    /// The server has accepted a request: it answered, or the request has made progress for a second.
    /// - Parameters:
    ///   - inFlight: requests of all classes at the destination, this one included.
    ///   - hasEnded: the server answered.
    package mutating func accepted(_ id: CommandID, inFlight: Int, hasEnded: Bool = true, now: MonotonicTime) {
        let isNew = !accepted.contains(id)
        // Reports still contain requests that have ended.
        guard hasEnded || isNew && undecided[id] != nil else { return }
        undecided[id] = nil
        if hasEnded { accepted.remove(id) } else { accepted.insert(id) }
        refusedInARow = []
        if let acceptedLast { meanInterval += (min(now - acceptedLast, Self.maxInterval) - meanInterval) / 10 }
        acceptedLast = now
        tally.add(inFlight, isRefused: false, now: now)
        if refusedBefore.remove(id) != nil {
            repeatedRefusalShare -= repeatedRefusalShare * Self.refusalShareWeight
        } else if isNew {
            firstRefusalShare -= firstRefusalShare * Self.refusalShareWeight
        }
        passBarrier(inFlight: inFlight)
        if isNew { grow(inFlight: inFlight, now: now) }
    }

    /// While the server has refused none, each request that was not refused within a second raises the limit:
    /// a request that waits for its response, or for a source that hangs, shows nothing else. Call it now and
    /// then.
    package mutating func creditUnrefused(now: MonotonicTime) {
        guard barrier == nil, !undecided.isEmpty else { return }
        credited = credited.filter { undecided[$0] != nil }
        for (id, sent) in undecided where now - sent >= Self.creditDelay && credited.insert(id).inserted {
            if limit < 2 * inFlight { limit += 1 }
        }
    }

    /// The server has refused a request, by 429 or 503.
    /// - Parameter inFlight: requests of all classes at the destination, this one included.
    package mutating func refused(_ id: CommandID, inFlight: Int, now: MonotonicTime) {
        let sent = undecided.removeValue(forKey: id)
        accepted.remove(id)
        tally.add(inFlight, isRefused: true, now: now)
        refusedInARow.insert(id)
        let isAgain = isRefusedAgain(id)
        // A request that was alone was not one too many.
        guard inFlight > 1 else { return }
        let inARow = refusedInARow.count
        if inARow >= Self.certainInARow || inARow >= Self.refusalsInARow && isSilent(now: now) {
            tally = RefusalTally()
        } else if isOfOneURL(isAgain: isAgain, inFlight: inFlight) {
            return
        }
        lower(inFlight: inFlight, sent: sent, now: now)
    }

    /// Another route, and maybe another server behind it.
    package mutating func restart() {
        let sent = undecided
        self = PushbackLimit()
        undecided = sent
    }

    /// Continues from another coordinator's limit: the server has accepted that many.
    package mutating func restore(limit: Int) { self.limit = max(limit, 1) }

    // MARK: The limit

    private mutating func grow(inFlight: Int, now: MonotonicTime) {
        guard let barrier else {
            // A round doubles it, but not beyond what was in flight: more was not tried.
            if limit < 2 * inFlight { limit += 1 }
            return
        }
        if limit < barrier.refusedAt - 1 {
            if limit < 2 * inFlight { limit += 1 }
        } else if limit < barrier.refusedAt, inFlight >= limit, now - barrier.at >= barrier.wait {
            limit = barrier.refusedAt
        }
    }

    /// A round of acceptances at the number of the barrier removes a barrier of one refusal, and raises
    /// another by one.
    private mutating func passBarrier(inFlight: Int) {
        guard var barrier, inFlight >= barrier.refusedAt else { return }
        barrier.accepted += 1
        if barrier.accepted >= barrier.refusedAt {
            barrier.accepted = 0
            if barrier.strikes == 1 {
                barrier.isPassed = true
            } else if tally.isTolerated(at: barrier.refusedAt) {
                barrier.refusedAt += 1
            }
        }
        lastBarrier = barrier
    }

    private mutating func lower(inFlight: Int, sent: MonotonicTime?, now: MonotonicTime) {
        limit = min(limit, max(inFlight - 1, 1))
        guard var barrier = lastBarrier,
            !barrier.isPassed || now - barrier.at < Self.barrierLifetime && inFlight <= barrier.refusedAt + 1
        else {
            lastBarrier = Barrier(refusedAt: inFlight, at: now)
            return
        }
        // A request that was under way at the last refusal is not another strike.
        if let sent, sent > barrier.at {
            barrier.strikes += 1
            barrier.at = now
            refusedLast = now
        }
        barrier.isPassed = false
        barrier.accepted = 0
        barrier.refusedAt = min(barrier.refusedAt, inFlight)
        lastBarrier = barrier
    }

    // MARK: The cause of a refusal

    private mutating func isRefusedAgain(_ id: CommandID) -> Bool {
        if refusedBefore.count >= Self.maxRefused { refusedBefore = [] }
        guard !refusedBefore.insert(id).inserted else {
            firstRefusalShare += (1 - firstRefusalShare) * Self.refusalShareWeight
            return false
        }
        repeatedRefusalShare += (1 - repeatedRefusalShare) * Self.refusalShareWeight
        if isRefusedAgainUsually { lastBarrier = nil }
        return true
    }

    private var isRefusedAgainUsually: Bool {
        repeatedRefusalShare > 0.5 && firstRefusalShare <= repeatedRefusalShare / 2
    }

    private func isOfOneURL(isAgain: Bool, inFlight: Int) -> Bool {
        isAgain || isRefusedAgainUsually || tally.isTolerated(at: inFlight)
    }

    private func isSilent(now: MonotonicTime) -> Bool {
        acceptedLast.map { now - $0 >= meanInterval * Self.silentIntervals } ?? true
    }
}

/// Counts what a server accepted and refused, by the number of requests in flight. Counts lose half of their
/// weight in 30 s. Pure.
struct RefusalTally: Sendable, Equatable {
    private var accepted: [Double] = []
    private var refused: [Double] = []
    private var agedAt: MonotonicTime?

    /// How much larger the share of refused requests may be at a number than below it.
    private static let toleratedShare = 0.05
    private static let step: Duration = .seconds(1)
    /// The part of a count that a second leaves: half in 30 s.
    private static let weightPerStep = 0.977
    /// After this number of steps nothing is left.
    private static let maxSteps: Int64 = 600
    private static let maxNumber = 256

    mutating func add(_ number: Int, isRefused: Bool, now: MonotonicTime) {
        age(now: now)
        let index = min(max(number, 0), Self.maxNumber)
        if index >= accepted.count {
            let missing = [Double](repeating: 0, count: index + 1 - accepted.count)
            accepted += missing
            refused += missing
        }
        if isRefused { refused[index] += 1 } else { accepted[index] += 1 }
    }

    /// Shares of refused requests below a number, and from it on; 0 where there were none.
    func shares(at number: Int) -> (below: Double, above: Double) {
        let number = min(max(number, 0), accepted.count)
        func share(_ numbers: Range<Int>) -> Double {
            let (accepted, refused) = (accepted[numbers].reduce(0, +), refused[numbers].reduce(0, +))
            return refused > 0 ? refused / (accepted + refused) : 0
        }
        return (share(0..<number), share(number..<accepted.count))
    }

    /// Hardly more is refused from this number on than below it.
    func isTolerated(at number: Int) -> Bool {
        let shares = shares(at: number)
        return shares.above <= shares.below + Self.toleratedShare
    }

    private mutating func age(now: MonotonicTime) {
        guard let agedAt else {
            self.agedAt = now
            return
        }
        let steps = (now - agedAt).nanoseconds / Self.step.nanoseconds
        guard steps > 0 else { return }
        self.agedAt = agedAt + Self.step * steps
        var factor = 1.0
        for _ in 0..<min(steps, Self.maxSteps) { factor *= Self.weightPerStep }
        for index in accepted.indices {
            accepted[index] *= factor
            refused[index] *= factor
        }
    }
}
