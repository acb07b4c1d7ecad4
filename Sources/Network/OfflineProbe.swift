package import Commands

/// Whether a link is there at all, and who may find out. Pure.
///
/// A destination that is *broken* is a link at the level `offline`, so that there is one reason, one schedule of probes and
/// one event. Five failures of the link in a row with no answer between close it, because slow time-outs never make three
/// in 5 s; and sooner three in 5 s, silence while bytes are in flight, and the kernel's word about routes.
/// Destinations that are *paused* for their credential are ``CredentialGate``'s: the link is well there.
///
/// ```
///            3 connects failed in 5 s · 5 in a row · silence · no route
///      open ───────────────────────────────────────────────────────────► closed ◄──┐ failed: next probe later
///        ▲                                                                 │  │     │ cancelled: next probe at once
///        │ answered, or 64 kB acknowledged, or 5 s of progress             │  └─────┘
///        └──────────────────────── half-open ◄─────────────────────────────┘ first byte acknowledged
/// ```
///
/// Bytes that get through are no answer: where one command fails five times with none between, as behind a proxy that cuts what
/// lasts longer than a minute, the link closes too, and the pauses between its probes grow from the first of those failures on.
/// One that gets on from cut to cut wastes nothing, and is not counted.
///
/// Probes start a twentieth of the outage's age apart, at least 1 s and at most 30 s, ±20 %. So the end of an outage is
/// noticed within a twentieth of its length more. The usual 1, 2, 4, 8, 16, 30 s found the end of a 30 s blackout after up
/// to 16 s, where 3 s are the target.
package struct OfflineProbe: Sendable, Equatable {
    package enum State: Sendable, Equatable {
        case open
        case closed
        /// Bytes got through; waiting for enough of them.
        case halfOpen
    }

    package enum Event: Sendable, Equatable {
        case closed
        case opened
    }

    package private(set) var state = State.open
    /// What happened, in a sentence.
    package private(set) var reason: String?
    /// When it closed, in nanoseconds of the monotonic clock.
    package private(set) var since: Int64 = 0
    /// Connects that failed, without an answer between.
    private var failures: [Int64] = []
    private var cuts = Cuts()
    /// When the kernel said that there is no route; nil where it has one, or has not spoken.
    private var routeLostAt: Int64?
    private var permit = ProbePermit(dueAt: 0)
    /// Probes that have heard nothing and still wait for their connect.
    private var former: Set<CommandID> = []
    private var halfOpenSince: Int64 = 0
    private var lastProgress: Int64 = 0
    private var acknowledged: Int64 = 0

    package static let failuresToClose = 3
    package static let failureWindow: Int64 = 5_000_000_000
    package static let failuresInARow = 5
    package static let shortestSilence: Int64 = 3_000_000_000
    package static let silentRoundTrips: Int64 = 8
    package static let shortestInterval: Int64 = 1_000_000_000
    package static let longestInterval: Int64 = 30_000_000_000
    package static let ageShare: Int64 = 20
    package static let jitter = 0.2
    package static let reportsLag: Int64 = 1_000_000_000
    package static let bytesToOpen: Int64 = 64_000
    package static let halfOpenPatience: Int64 = 5_000_000_000
    /// The next probe may go when one has heard nothing for so long, though its connect lasts 10 s: of its SYNs those after 1
    /// and 3 s are sent, and then the light may come back right after one that was lost.
    package static let patience: Int64 = 2_000_000_000

    package init() {}

    /// As another coordinator left it; the first probe goes at once.
    package init(closedFor reason: String, now: Int64) { close(reason, now: now, firstProbe: now) }

    // MARK: Whether a command may go

    package func admits(now: Int64) -> Bool {
        switch state {
        case .open: true
        case .closed: permit.isFree(now: now)
        case .halfOpen: false
        }
    }

    /// When the next probe may go; nil while the link is open or one is under way.
    package var nextProbe: Int64? { state == .closed ? permit.nextAt : nil }

    /// The command goes out; where the link is closed it is the probe.
    package mutating func offered(_ id: CommandID, now: Int64) { if state == .closed { permit.take(id, now: now) } }

    /// It was cancelled, preempted or not taken, and says nothing of the link. The permit is free at once.
    package mutating func withdrawn(_ id: CommandID, now: Int64) {
        former.remove(id)
        guard permit.giveBack(id) else { return }
        permit.dueAt = now
        if state == .halfOpen { state = .closed }
    }

    /// It ended in what says nothing of the link: the next probe waits its time.
    package mutating func undecided(_ id: CommandID, chance: Double, now: Int64) {
        former.remove(id)
        guard permit.giveBack(id) else { return }
        if state == .halfOpen { state = .closed }
        schedule(chance: chance, now: now)
    }

    /// It is a probe that is under way.
    package func isProbe(_ id: CommandID) -> Bool { state != .open && (permit.holder == id || former.contains(id)) }

    // MARK: Evidence

    /// The destination answered, whatever it said.
    package mutating func answered(_ id: CommandID?, now: Int64) -> Event? {
        failures = []
        cuts = Cuts()
        if let id {
            former.remove(id)
            _ = permit.giveBack(id)
            if isOfBefore(now) { return nil }
        }
        return open()
    }

    /// Workers tell what happened up to a quarter of a second ago, and more where they are busy: what they say right after
    /// the kernel took the route away is of the time before.
    private func isOfBefore(_ now: Int64) -> Bool { routeLostAt.map { now - $0 < Self.reportsLag } ?? false }

    /// A connect failed, or a transfer for the link's fault.
    /// - Parameters:
    ///   - remaining: bytes that it had still to send, where it continues from what got through; nil where it starts over.
    ///   - chance: in 0..<1, decides the jitter.
    package mutating func failed(
        _ id: CommandID, reason: String, remaining: Int64? = nil, chance: Double, now: Int64
    ) -> Event? {
        guard state == .open else {
            // Without a route every probe fails, and says less of it than the kernel does.
            if routeLostAt == nil { self.reason = reason }
            former.remove(id)
            if permit.giveBack(id) || state == .halfOpen { schedule(chance: chance, now: now) }
            state = .closed
            return nil
        }
        failures.append(now)
        let recent = failures.count { now - $0 <= Self.failureWindow }
        let ofOne = cuts.add(id, remaining: remaining, now: now)
        guard recent >= Self.failuresToClose || max(failures.count, ofOne) >= Self.failuresInARow else { return nil }
        let count = recent >= Self.failuresToClose ? "\(recent) in 5 s" : "\(max(failures.count, ofOne)) in a row"
        let age = ofOne >= Self.failuresInARow ? now - cuts.since : 0
        close(
            "\(reason) (\(count), with no answer between)", now: now,
            firstProbe: now + Self.interval(age: age, chance: chance))
        return .closed
    }

    /// Nothing was acknowledged for so long, with bytes in flight: a blackhole, which no error tells of.
    /// - Parameters:
    ///   - silence: nanoseconds.
    ///   - srtt: nanoseconds; nil where unknown.
    package mutating func silent(for silence: Int64, srtt: Int64?, chance: Double, now: Int64) -> Event? {
        let patience = max(Self.shortestSilence, Self.silentRoundTrips * (srtt ?? 0))
        guard state == .open, silence >= patience else { return nil }
        close(
            "no byte was acknowledged for \(MeasureText.time(silence.seconds)) with transfers in flight", now: now,
            firstProbe: now + Self.interval(age: 0, chance: chance))
        return .closed
    }

    /// The kernel has no route or the interface is down: nobody waits for a time-out.
    package mutating func routeLost(_ reason: String, chance: Double, now: Int64) -> Event? {
        routeLostAt = now
        guard state == .open else {
            self.reason = reason
            return nil
        }
        close(reason, now: now, firstProbe: now + Self.interval(age: 0, chance: chance))
        return .closed
    }

    /// The kernel has a route again, or another one: probe now.
    package mutating func routeFound(now: Int64) {
        routeLostAt = nil
        guard state != .open else { return }
        permit = ProbePermit(dueAt: now)
    }

    /// Bytes were acknowledged, the probe's or those of a transfer that sat the outage out.
    package mutating func progressed(_ bytes: Int64, now: Int64) -> Event? {
        failures = []
        guard bytes > 0, state != .open, !isOfBefore(now) else { return nil }
        if state == .closed {
            state = .halfOpen
            halfOpenSince = now
            acknowledged = 0
        }
        lastProgress = now
        acknowledged += bytes
        return acknowledged >= Self.bytesToOpen ? open(unanswered: cuts) : nil
    }

    /// Ends half-open by time, because a link that is merely slow is not offline; and the turn of a probe that hears nothing.
    package mutating func tick(chance: Double, now: Int64) -> Event? {
        if state == .closed, let holder = permit.holder, now - permit.takenAt >= Self.patience {
            undecided(holder, chance: chance, now: now)
            former.insert(holder)
        }
        guard state == .halfOpen, now - halfOpenSince >= Self.halfOpenPatience else { return nil }
        if now - lastProgress < Self.shortestSilence { return open(unanswered: cuts) }
        state = .closed
        if let holder = permit.holder { _ = permit.giveBack(holder) }
        schedule(chance: chance, now: now)
        return nil
    }

    /// Nanoseconds from the start of one probe to the next.
    package static func interval(age: Int64, chance: Double) -> Int64 {
        let plain = min(max(age / ageShare, shortestInterval), longestInterval)
        return min(Int64(Double(plain) * (1 + jitter * (2 * chance - 1))), longestInterval)
    }

    private mutating func close(_ reason: String, now: Int64, firstProbe: Int64) {
        state = .closed
        self.reason = reason
        since = now
        failures = []
        permit = ProbePermit(dueAt: firstProbe)
    }

    /// - Parameter cuts: what was begun and cut before, where nobody has answered.
    private mutating func open(unanswered cuts: Cuts = Cuts()) -> Event? {
        guard state != .open else { return nil }
        self = OfflineProbe()
        self.cuts = cuts
        return .opened
    }

    private mutating func schedule(chance: Double, now: Int64) {
        permit.dueAt = max(permit.takenAt + Self.interval(age: now - since, chance: chance), now)
    }
}

/// How often each command has failed, without an answer of the destination between.
private struct Cuts: Sendable, Equatable {
    /// When the first did.
    private(set) var since: Int64 = 0
    private var counts: [CommandID: Int] = [:]
    /// Bytes that it had still to send, at the least.
    private var remaining: [CommandID: Int64] = [:]

    /// Commands that are remembered.
    private static let most = 64

    /// - Parameter remaining: nil where it starts over.
    /// - Returns: how often this one has, since it last got on.
    mutating func add(_ id: CommandID, remaining: Int64?, now: Int64) -> Int {
        if let remaining, remaining < self.remaining[id] ?? .max {
            if self.remaining.count >= Self.most { self.remaining = [:] }
            self.remaining[id] = remaining
            counts[id] = nil
            return 0
        }
        if counts.count >= Self.most { counts = [:] }
        if counts.isEmpty { since = now }
        counts[id, default: 0] += 1
        return counts[id] ?? 0
    }
}
