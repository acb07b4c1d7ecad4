package import Commands

/// Whether a link is there at all, and which command may find out. Pure.
///
/// A destination that cannot be reached is a link at the level `offline`, so that there is one reason, one schedule of probes
/// and one event. Three different commands that fail for the link with no answer between close it: one command alone says
/// nothing, because its own URL may be what fails. So do silence while bytes are in flight, and the kernel's word about routes.
/// Bytes and answers outweigh the kernel's word: they open the link, and it stays open until the kernel says so anew and
/// nothing comes through.
/// Destinations that refuse every command are ``DestinationCircuitBreaker``'s: the link is well there.
///
/// ```
///            3 commands failed · silence · no route
///      open ───────────────────────────────────────────────────────────► closed ◄──┐ failed: next probe later
///        ▲                                                                 │  │     │ cancelled: next probe at once
///        │ answered, or 64 kB acknowledged, or 5 s of progress             │  └─────┘
///        └──────────────────────── half-open ◄─────────────────────────────┘ first byte acknowledged
/// ```
///
/// Probes start a twentieth of the outage's age apart, at least 1 s and at most 30 s, ±20 %. So the end of an outage is
/// noticed within a twentieth of its length more. The usual 1, 2, 4, 8, 16, 30 s found the end of a 30 s blackout after up
/// to 16 s, where 3 s are the target.
package struct LinkCircuitBreaker: Sendable, Equatable {
    package enum State: Sendable, Equatable {
        case open
        case closed
        /// Bytes got through; waiting for enough of them.
        case halfOpen
    }

    private struct Word: Sendable, Equatable {
        var reason: String
        var at: Int64
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
    /// Commands that failed for the link, without an answer between.
    private var failed: Set<CommandID> = []
    /// When the kernel said that there is no route; nil where it has one, or has not spoken.
    private var routeLostAt: Int64?
    /// Bytes or answers came through although the kernel had said that there is no route: its table is not the one that
    /// the workers send by. Until it names a route again, its word alone closes nothing.
    package private(set) var contradictsTable = false
    /// What the kernel said since, and when; it counts unless something comes through within ``shortestSilence``.
    private var doubted: Word?
    private var permit = ProbePermit(dueAt: 0)
    /// Probes that have heard nothing and still wait for their connect.
    private var former: Set<CommandID> = []
    private var halfOpenSince: Int64 = 0
    private var lastProgress: Int64 = 0
    private var acknowledged: Int64 = 0

    package static let commandsToClose = 3
    package static let shortestSilence: Int64 = 3_000_000_000
    package static let silentRoundTrips: Int64 = 8
    package static let shortestInterval: Int64 = 1_000_000_000
    package static let longestInterval: Int64 = 30_000_000_000
    package static let ageShare: Int64 = 20
    package static let jitter = 0.2
    package static let reportsLag: Int64 = 1_000_000_000
    package static let bytesToOpen: Int64 = 64_000
    package static let halfOpenTimeout: Int64 = 5_000_000_000
    /// The next probe may go when one has heard nothing for so long, though its connect lasts 10 s: of its SYNs those after 1
    /// and 3 s are sent, and then the light may come back right after one that was lost.
    package static let timeout: Int64 = 2_000_000_000

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

    /// Commands have failed for the link, and none was answered since.
    package var isFailing: Bool { state != .open || !failed.isEmpty }

    /// It is a probe that is under way.
    package func isProbe(_ id: CommandID) -> Bool { state != .open && (permit.holder == id || former.contains(id)) }

    // MARK: Evidence

    /// The destination answered, whatever it said.
    package mutating func answered(_ id: CommandID?, now: Int64) -> Event? {
        failed = []
        refute(now: now)
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

    private mutating func refute(now: Int64) {
        if let doubted, now - doubted.at >= Self.reportsLag { self.doubted = nil }
    }

    /// The command failed for the link.
    /// - Parameter chance: in 0..<1, decides the jitter.
    package mutating func failed(_ id: CommandID, reason: String, chance: Double, now: Int64) -> Event? {
        guard state == .open else {
            // Without a route every probe fails, and says less of it than the kernel does.
            if routeLostAt == nil { self.reason = reason }
            former.remove(id)
            if permit.giveBack(id) || state == .halfOpen { schedule(chance: chance, now: now) }
            state = .closed
            return nil
        }
        failed.insert(id)
        guard failed.count >= Self.commandsToClose else { return nil }
        close(
            "\(reason) (\(failed.count) commands, with no answer between)", now: now,
            firstProbe: now + Self.interval(age: 0, chance: chance))
        return .closed
    }

    /// Nothing was acknowledged for so long, with bytes in flight: a blackhole, which no error tells of.
    /// - Parameters:
    ///   - silence: nanoseconds.
    ///   - srtt: nanoseconds; nil where unknown.
    package mutating func silent(for silence: Int64, srtt: Int64?, chance: Double, now: Int64) -> Event? {
        let timeout = max(Self.shortestSilence, Self.silentRoundTrips * (srtt ?? 0))
        guard state == .open, silence >= timeout else { return nil }
        close(
            "no byte was acknowledged for \(MeasureText.time(silence.seconds)) with transfers in flight", now: now,
            firstProbe: now + Self.interval(age: 0, chance: chance))
        return .closed
    }

    /// The kernel has no route or the interface is down: no command waits for a timeout. Bytes that flow outweigh it: where
    /// they came through in spite of it before, it counts only after a silence.
    package mutating func routeLost(_ reason: String, chance: Double, now: Int64) -> Event? {
        if contradictsTable {
            doubted = Word(reason: reason, at: now)
            return nil
        }
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
        contradictsTable = false
        doubted = nil
        guard state != .open else { return }
        permit = ProbePermit(dueAt: now)
    }

    /// Bytes were acknowledged, the probe's or those of a transfer that sat the outage out.
    package mutating func progressed(_ bytes: Int64, now: Int64) -> Event? {
        failed = []
        if bytes > 0 { refute(now: now) }
        guard bytes > 0, state != .open, !isOfBefore(now) else { return nil }
        if state == .closed {
            state = .halfOpen
            halfOpenSince = now
            acknowledged = 0
        }
        lastProgress = now
        acknowledged += bytes
        return acknowledged >= Self.bytesToOpen ? open() : nil
    }

    /// Ends half-open by time, because a link that is merely slow is not offline; and the turn of a probe that hears nothing.
    package mutating func tick(chance: Double, now: Int64) -> Event? {
        if let doubted, state == .open, now - doubted.at > Self.shortestSilence {
            contradictsTable = false
            self.doubted = nil
            return routeLost(doubted.reason, chance: chance, now: now)
        }
        if state == .closed, let holder = permit.holder, now - permit.takenAt >= Self.timeout {
            undecided(holder, chance: chance, now: now)
            former.insert(holder)
        }
        guard state == .halfOpen, now - halfOpenSince >= Self.halfOpenTimeout else { return nil }
        if now - lastProgress < Self.shortestSilence { return open() }
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
        failed = []
        permit = ProbePermit(dueAt: firstProbe)
    }

    private mutating func open() -> Event? {
        guard state != .open else { return nil }
        let contradictsTable = contradictsTable || routeLostAt != nil
        self = LinkCircuitBreaker()
        self.contradictsTable = contradictsTable
        return .opened
    }

    private mutating func schedule(chance: Double, now: Int64) {
        permit.dueAt = max(permit.takenAt + Self.interval(age: now - since, chance: chance), now)
    }
}
