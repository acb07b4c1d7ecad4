package import Commands
package import Host

/// How many requests of all classes a server takes at once, found by what it accepts and what it refuses (429, 503). Pure.
///
/// The limit doubles in a round for as long as everything is accepted. A refusal lowers it to what was in flight beside the
/// refused request, unless it is the doing of one URL:
/// * The command was refused before. What a server refused for the number it accepts later.
/// * Most commands that were sent again after a refusal were refused again.
/// * The server refuses little of what is sent at that number or above it, or as much below it. One count of what it accepted
///   at once shows nothing: of seven requests in flight a server that takes six has six most of the time, because an answer
///   takes half a round trip to arrive, and it refuses one of ten (simulated).
///
/// The number is tried again as soon as others are accepted, and then after 1, 4, 15, 60 and 120 s. From the second refusal
/// on the destination pauses for a moment.
///
/// Where everything is refused, or eight in a row, the server takes less than before, whatever it has accepted until then.
package struct PushbackLimit: Sendable, Equatable {
    package private(set) var limit = 4

    /// A number of requests at which the server refused one.
    private struct Barrier: Sendable, Equatable {
        var refusedAt: Int
        /// When it refused last.
        var at: MonotonicTime
        /// How often it did, but for those that were under way then.
        var strikes = 1
        /// Requests that were accepted at the number, or above it, since.
        var accepted = 0
        /// So many were accepted that the limit passes it. Where the server refuses near it again, this goes on.
        var isPassed = false

        /// How long the number is not tried.
        var lasts: Duration { PushbackLimit.waits[min(strikes, PushbackLimit.waits.count) - 1] }
    }

    private var lastBarrier: Barrier?
    private var refusedLast: MonotonicTime?
    /// Requests that were sent and have shown nothing yet, and when they were sent.
    private var undecided: [CommandID: MonotonicTime] = [:]
    /// Of these, such as have outlasted ``outlastTime``.
    private var outlasted: Set<CommandID> = []
    /// Requests in flight that have counted as accepted.
    private var accepted: Set<CommandID> = []
    private var tally = RefusalTally()
    /// Commands that were refused and have not been accepted since.
    private var refusedBefore: Set<CommandID> = []
    /// Share of the last eight or so commands sent again after a refusal that were refused again.
    private var againShare = 0.0
    /// Commands that were refused since the last acceptance.
    private var refusedInARow: Set<CommandID> = []
    private var acceptedLast: MonotonicTime?
    /// From one acceptance to the next: a moving average, a tenth of it the last one.
    private var interval = Duration.zero

    private static let pause: Duration = .milliseconds(250)
    private static let outlastTime: Duration = .seconds(1)
    /// By strikes.
    private static let waits: [Duration] = [0, 1, 4, 15, 60, 120].map { .seconds($0) }
    private static let refusalsInARow = 3
    /// So many are no chance at all.
    private static let certainInARow = 8
    /// Usual intervals without an acceptance that three refusals in a row need: at 75 acceptances a second they are chance.
    private static let silentIntervals = 2
    private static let maxInterval: Duration = .seconds(1)
    private static let againWeight = 0.125
    private static let maxRefused = 4096
    /// A number near a barrier, from so long ago, is that barrier's.
    private static let memory: Duration = .seconds(60)
    private static let maxUndecided = 1024
    private static let undecidedTime: Duration = .seconds(10)

    package init() {}

    private var barrier: Barrier? { lastBarrier.flatMap { $0.isPassed ? nil : $0 } }

    // MARK: Whether a request may go

    /// The server refused for the number a moment ago: nothing new is sent, whatever its class.
    package func isPausing(now: MonotonicTime) -> Bool { refusedLast.map { now - $0 < Self.pause } ?? false }

    /// The server has refused for the number, so the limit is what it takes and not one more.
    package var isBarred: Bool { barrier != nil }

    /// It has refused at that number more than once: one refusal may be the doing of one URL.
    package var isConfirmed: Bool { barrier.map { $0.strikes > 1 } ?? false }

    /// Requests in flight that it knows of.
    package var inFlight: Int { undecided.count + accepted.count }

    // MARK: What happens

    /// A request goes out.
    package mutating func sent(_ id: CommandID, now: MonotonicTime) {
        // Ends that were never told.
        if undecided.count >= Self.maxUndecided { undecided = undecided.filter { now - $0.value < Self.undecidedTime } }
        undecided[id] = now
    }

    /// A request was cancelled, preempted or lost its connection: that tells nothing of the number.
    package mutating func ended(_ id: CommandID) {
        undecided[id] = nil
        accepted.remove(id)
    }

    /// A worker no longer reports the others.
    package mutating func keep(_ reported: Set<CommandID>) { accepted.formIntersection(reported) }

    /// The server has accepted a request: it answered, or the request has made progress for a second.
    /// - Parameters:
    ///   - inFlight: requests of all classes at the destination, this one included.
    ///   - hasEnded: it answered.
    package mutating func accepted(_ id: CommandID, inFlight: Int, hasEnded: Bool = true, now: MonotonicTime) {
        let isNew = !accepted.contains(id)
        // Reports still tell of what has ended.
        guard hasEnded || isNew && undecided[id] != nil else { return }
        undecided[id] = nil
        if hasEnded { accepted.remove(id) } else { accepted.insert(id) }
        refusedInARow = []
        if let acceptedLast { interval += (min(now - acceptedLast, Self.maxInterval) - interval) / 10 }
        acceptedLast = now
        tally.add(inFlight, isRefused: false, now: now)
        if refusedBefore.remove(id) != nil { againShare -= againShare * Self.againWeight }
        passBarrier(inFlight: inFlight)
        if isNew { grow(inFlight: inFlight, now: now) }
    }

    /// Requests that the server has not refused within a second let more go, while it has refused none: one that waits for its
    /// response, or for a source that hangs, shows nothing else. Call it now and then.
    package mutating func outlast(now: MonotonicTime) {
        guard barrier == nil, !undecided.isEmpty else { return }
        outlasted = outlasted.filter { undecided[$0] != nil }
        for (id, sent) in undecided where now - sent >= Self.outlastTime && outlasted.insert(id).inserted {
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
        // Alone it was not one too many.
        guard inFlight > 1 else { return }
        let inARow = refusedInARow.count
        if inARow >= Self.certainInARow || inARow >= Self.refusalsInARow && isSilent(now: now) {
            tally = RefusalTally()
        } else if isOfOneURL(isAgain: isAgain, inFlight: inFlight) {
            return
        }
        lower(inFlight: inFlight, sent: sent, now: now)
    }

    /// Another path, and maybe another server behind it.
    package mutating func restart() {
        let sent = undecided
        self = PushbackLimit()
        undecided = sent
    }

    /// As another coordinator left it: the server has accepted so many.
    package mutating func restore(limit: Int) { self.limit = max(limit, 1) }

    // MARK: The limit

    private mutating func grow(inFlight: Int, now: MonotonicTime) {
        guard let barrier else {
            // A round doubles it; what was not in flight has shown nothing.
            if limit < 2 * inFlight { limit += 1 }
            return
        }
        if limit < barrier.refusedAt - 1 {
            if limit < 2 * inFlight { limit += 1 }
        } else if limit < barrier.refusedAt, inFlight >= limit, now - barrier.at >= barrier.lasts {
            limit = barrier.refusedAt
        }
    }

    /// A round of acceptances at the number of the barrier opens it where it was refused once, and moves it by one otherwise.
    private mutating func passBarrier(inFlight: Int) {
        guard var barrier, inFlight >= barrier.refusedAt else { return }
        barrier.accepted += 1
        if barrier.accepted >= barrier.refusedAt {
            barrier.accepted = 0
            if barrier.strikes == 1 {
                barrier.isPassed = true
            } else if tally.isSuffered(at: barrier.refusedAt) {
                barrier.refusedAt += 1
            }
        }
        lastBarrier = barrier
    }

    private mutating func lower(inFlight: Int, sent: MonotonicTime?, now: MonotonicTime) {
        limit = min(limit, max(inFlight - 1, 1))
        guard var barrier = lastBarrier,
            !barrier.isPassed || now - barrier.at < Self.memory && inFlight <= barrier.refusedAt + 1
        else {
            lastBarrier = Barrier(refusedAt: inFlight, at: now)
            return
        }
        // Others were under way then.
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

    // MARK: Whose doing a refusal is

    private mutating func isRefusedAgain(_ id: CommandID) -> Bool {
        if refusedBefore.count >= Self.maxRefused { refusedBefore = [] }
        guard !refusedBefore.insert(id).inserted else { return false }
        againShare += (1 - againShare) * Self.againWeight
        if isRefusedAgainUsually { lastBarrier = nil }
        return true
    }

    private var isRefusedAgainUsually: Bool { againShare > 0.5 }

    private func isOfOneURL(isAgain: Bool, inFlight: Int) -> Bool {
        isAgain || isRefusedAgainUsually || tally.isSuffered(at: inFlight)
    }

    private func isSilent(now: MonotonicTime) -> Bool {
        acceptedLast.map { now - $0 >= interval * Self.silentIntervals } ?? true
    }
}
