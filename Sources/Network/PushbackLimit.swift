package import Commands

/// How many requests of all classes a server takes at once, found by what it accepts and what it refuses
/// (429, 503). Pure.
///
/// The limit doubles in a round for as long as everything is accepted. A refusal lowers it to what the server
/// had accepted beside the refused request. One refusal may be the doing of one URL, so the number is tried again
/// as soon as others are accepted. A second refusal there pauses the destination for a moment; the number is
/// tried again after a second, then after 30 s, 60 s and 2 min, and from then on the limit grows by one at a
/// time.
///
/// A refusal that does not depend on the number changes nothing: the server has lately had as many requests
/// at once and accepted all of them, and it answers others. Three refusals in a row do, because then the
/// server takes less than before.
///
/// A request in flight may still be refused. So a count of what was accepted at once is certain when every
/// request that was in flight then has ended, made progress, or outlived twice the time that a refusal takes;
/// and a refusal takes one off all counts since that request was sent. The number at which a server refused
/// is corrected alike: requests that it refuses take no slot there. Where many are refused whatever the
/// number, one more counts for less.
package struct PushbackLimit: Sendable, Equatable {
    package private(set) var limit = 4

    /// Requests that were accepted at once, and when.
    private struct Count: Sendable, Equatable {
        var requests: Int
        var at: Int64
    }

    /// A number of requests at which the server refused one.
    private struct Barrier: Sendable, Equatable {
        var refusedAt: Int
        /// When it refused last.
        var at: Int64
        /// How often it did, but for those that were under way then.
        var strikes = 1

        /// Nanoseconds until the number is tried again.
        var lasts: Int64 {
            switch strikes {
            case 1: 0
            case 2: PushbackLimit.firstBarrier
            default: min(PushbackLimit.secondBarrier << min(strikes - 3, 8), PushbackLimit.longestBarrier)
            }
        }
        /// The number may still be a chance: a refusal of another cause that came while the limit rose.
        var isDoubtful: Bool { strikes <= 3 }
    }

    private var barrier: Barrier?
    private var refusedLast: Int64?
    /// Requests that were sent and have shown nothing yet, and when they were sent.
    private var undecided: [CommandID: Int64] = [:]
    /// Of these, such as have outlasted ``outlastTime``.
    private var outlasted: Set<CommandID> = []
    /// Requests in flight that have counted as accepted.
    private var accepted: Set<CommandID> = []
    /// Counts that a refusal may still correct, in the order of time.
    private var recent: [Count] = []
    /// Certain ones, each lower and later than the one before.
    private var certain: [Count] = []
    /// Commands that were refused since the last acceptance.
    private var refusedInARow: Set<CommandID> = []
    private var acceptedLast: Int64?
    /// Share of the last 32 or so requests that were refused at a number that the server accepts.
    private var otherShare = 0.0
    /// Nanoseconds that a refusal takes.
    private var refusalTime: Double?
    /// Refusals since one that counted, at numbers that the server is not certain to accept, and the least of
    /// these.
    private var doubts = 0
    private var doubtedAt = Int.max
    /// Nanoseconds from one acceptance to the next, a tenth of it of the last one.
    private var interval = 0.0

    private static let pause: Int64 = 250_000_000
    private static let outlastTime: Int64 = 1_000_000_000
    private static let firstBarrier: Int64 = 1_000_000_000
    private static let secondBarrier: Int64 = 30_000_000_000
    private static let longestBarrier: Int64 = 120_000_000_000
    private static let memory: Int64 = 60_000_000_000
    private static let refusalsInARow = 3
    /// So many are no chance at all.
    private static let certainInARow = 8
    /// Usual intervals without an acceptance that three refusals in a row need: at 75 acceptances a second
    /// they are chance.
    private static let silentIntervals = 2.0
    private static let longestInterval = 1e9
    /// A server that refuses for the number does so sooner, in nanoseconds.
    private static let decision = 50_000_000...10_000_000_000.0
    private static let shareWeight = 1.0 / 32
    private static let manyOthers = 0.05
    private static let maxRecent = 512
    private static let maxUndecided = 1024

    package init() {}

    // MARK: Whether a request may go

    /// The server refused for the number a moment ago: nothing new is sent, whatever its class.
    package func isPausing(now: Int64) -> Bool { refusedLast.map { now - $0 < Self.pause } ?? false }

    /// The server has refused for the number, so the limit is what it takes and not one more.
    package var isBarred: Bool { barrier != nil }

    /// It has refused at that number more than once: one refusal may be the doing of one URL.
    package var isConfirmed: Bool { barrier.map { $0.strikes > 1 } ?? false }

    /// Requests in flight that it knows of.
    package var inFlight: Int { undecided.count + accepted.count }

    // MARK: What happens

    /// A request goes out.
    package mutating func sent(_ id: CommandID, now: Int64) {
        // Ends that were never told.
        if undecided.count >= Self.maxUndecided {
            undecided = undecided.filter { Double(now - $0.value) < Self.decision.upperBound }
        }
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
    package mutating func accepted(_ id: CommandID, inFlight: Int, hasEnded: Bool = true, now: Int64) {
        let isNew = !accepted.contains(id)
        // Reports still tell of what has ended.
        guard hasEnded || isNew && undecided[id] != nil else { return }
        undecided[id] = nil
        if hasEnded { accepted.remove(id) } else { accepted.insert(id) }
        refusedInARow = []
        if isNew { otherShare -= otherShare * Self.shareWeight }
        if let acceptedLast { interval += 0.1 * (min(Double(now - acceptedLast), Self.longestInterval) - interval) }
        acceptedLast = now
        if recent.count >= Self.maxRecent { recent.removeFirst(Self.maxRecent / 2) }
        recent.append(Count(requests: inFlight, at: now))
        settle(now: now)
        if isNew { grow(inFlight: inFlight, now: now) }
    }

    /// Requests that the server has not refused within a second let more go, while it has refused none: one that waits for its
    /// response, or for a source that hangs, shows nothing else. Call it now and then.
    package mutating func outlast(now: Int64) {
        guard barrier == nil, !undecided.isEmpty else { return }
        outlasted = outlasted.filter { undecided[$0] != nil }
        for (id, sent) in undecided where now - sent >= Self.outlastTime && outlasted.insert(id).inserted {
            if limit < 2 * inFlight { limit += 1 }
        }
    }

    /// The server has refused a request, by 429 or 503.
    /// - Parameter inFlight: requests of all classes at the destination, this one included.
    package mutating func refused(_ id: CommandID, inFlight: Int, now: Int64) {
        let sent = undecided.removeValue(forKey: id)
        accepted.remove(id)
        if let sent {
            let time = Double(now - sent)
            refusalTime = refusalTime.map { $0 + 0.25 * (time - $0) } ?? time
        }
        let began = sent ?? recent.first?.at ?? now
        for index in recent.indices where recent[index].at >= began { recent[index].requests -= 1 }
        if let barrier, began <= barrier.at { self.barrier?.refusedAt = max(barrier.refusedAt - 1, 2) }
        settle(now: now)
        refusedInARow.insert(id)
        // Alone it was not one too many.
        guard inFlight > 1 else { return }
        let inARow = refusedInARow.count
        if inARow >= Self.certainInARow || inARow >= Self.refusalsInARow && isSilent(now: now) {
            recent = []
            certain = []
        } else if mostAccepted(now: now) >= inFlight {
            otherShare += (1 - otherShare) * Self.shareWeight
            return
        } else {
            doubts += 1
            doubtedAt = min(doubtedAt, inFlight)
            guard doubts >= neededDoubts else { return }
        }
        forgetDoubts()
        lower(inFlight: inFlight, sent: began, now: now)
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

    private mutating func grow(inFlight: Int, now: Int64) {
        guard let barrier else {
            // A round doubles it; what was not in flight has shown nothing.
            if limit < 2 * inFlight { limit += 1 }
            return
        }
        if limit < barrier.refusedAt - 1 {
            if limit < 2 * inFlight { limit += 1 }
        } else if limit < barrier.refusedAt, inFlight >= limit, now - barrier.at >= lasts(barrier) {
            limit = barrier.refusedAt
        }
    }

    /// Where other causes refuse as well, each refusal at the barrier may be one of theirs.
    private func lasts(_ barrier: Barrier) -> Int64 {
        otherShare < Self.manyOthers ? barrier.lasts : Self.firstBarrier
    }

    private mutating func lower(inFlight: Int, sent: Int64, now: Int64) {
        limit = min(limit, max(inFlight - 1, 1))
        guard var barrier else {
            barrier = Barrier(refusedAt: inFlight, at: now)
            return
        }
        // Others were under way then.
        if sent > barrier.at {
            barrier.strikes += 1
            barrier.at = now
            refusedLast = now
        }
        barrier.refusedAt = min(barrier.refusedAt, inFlight)
        self.barrier = barrier
    }

    // MARK: What was accepted at once

    private func isSilent(now: Int64) -> Bool {
        acceptedLast.map { Double(now - $0) >= Self.silentIntervals * interval } ?? true
    }

    /// Refusals at one number that show its doing and not another cause. The number refuses nine of ten
    /// requests; the other cause, as many as lately.
    private var neededDoubts: Int {
        switch otherShare {
        case ..<Self.manyOthers: 1
        case ..<0.15: 2
        case ..<0.3: 3
        default: 4
        }
    }

    private mutating func forgetDoubts() { (doubts, doubtedAt) = (0, .max) }

    private func mostAccepted(now: Int64) -> Int { certain.first { now - $0.at <= Self.memory }?.requests ?? 0 }

    private mutating func settle(now: Int64) {
        let limits = Self.decision
        let decision = refusalTime.map { min(max(2 * $0, limits.lowerBound), limits.upperBound) }
        let earliest = now - Int64(decision ?? limits.upperBound)
        let oldest = undecided.values.filter { $0 > earliest }.min() ?? .max
        let settled = recent.prefix { $0.at < oldest }
        guard !settled.isEmpty else { return }
        for count in settled {
            while let last = certain.last, last.requests <= count.requests { certain.removeLast() }
            certain.append(count)
        }
        recent.removeFirst(settled.count)
        certain.removeAll { now - $0.at > Self.memory }
        let shown = mostAccepted(now: now)
        if shown >= doubtedAt { forgetDoubts() }
        guard let barrier else { return }
        // It was another cause, or the server takes more now.
        guard shown >= barrier.refusedAt else { return }
        let isDoubtful = barrier.isDoubtful || otherShare >= Self.manyOthers
        if isDoubtful { self.barrier = nil } else { self.barrier?.refusedAt = shown + 1 }
    }
}
