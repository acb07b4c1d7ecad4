package import Commands
package import Host

/// Whether a link can be used at all, and which command may find out. Pure.
///
/// An open circuit breaker of a link is the level `offline`, so that there is one reason, one schedule of
/// probes and one event. Three things open it:
/// * Three different commands fail for the link with no answer between them. One command alone shows nothing,
///   because its own URL may be what fails.
/// * Nothing is acknowledged for 3 s, or 8 round trips, with bytes in flight.
/// * The kernel reports that there is no route. Bytes and answers outweigh the routing table: they close the
///   circuit breaker, and it stays closed until the kernel reports the loss again and nothing comes through.
///
/// A destination that refuses every command is ``DestinationCircuitBreaker``'s matter: its link works.
///
/// ```
///            3 commands failed · silence · no route            first byte acknowledged
///   closed ─────────────────────────────────────────► open ────────────────────────────► half-open
///     ▲                                               │  ▲                                 │   │
///     │                                               │  └─────────────────────────────────┘   │
///     │                                               │    failed, undecided, or 3 s without   │
///     │                                               │    progress: next probe an interval    │
///     │                                               │    later; withdrawn: at once           │
///     └───────────────────────────────────────────────┴────────────────────────────────────────┘
///                           answered · 64 kB acknowledged · 5 s of progress
/// ```
/// A probe that ends before its first byte leaves the circuit breaker open; the next one goes at the same
/// times.
///
/// Probes start a twentieth of the outage's age apart, at least 1 s and at most 30 s, ±20 %. So the end of an
/// outage is noticed after at most a twentieth of its length. The usual 1, 2, 4, 8, 16, 30 s found the end of
/// a 30 s blackout after up to 16 s, where the target is 3 s.
package struct LinkCircuitBreaker: Sendable, Equatable {
    package enum State: Sendable, Equatable {
        /// Commands flow.
        case closed
        /// Nothing goes but one probe at a time.
        case open
        /// Some bytes were acknowledged; enough of them close the circuit breaker.
        case halfOpen
    }

    package enum Event: Sendable, Equatable {
        case opened
        case closed
    }

    /// A report of the kernel that a route is lost.
    private struct RouteLoss: Sendable, Equatable {
        @Indirect var reason: LinkReason
        var at: MonotonicTime
    }

    package private(set) var state = State.closed
    /// Why it is open.
    @Indirect package private(set) var reason: LinkReason?
    /// When it opened.
    package private(set) var since = MonotonicTime.zero
    /// Commands that failed for the link since the last answer.
    private var failed: Set<CommandID> = []
    /// When the kernel reported that there is no route; nil while it has one or has not reported.
    private var routeLostAt: MonotonicTime?
    /// Bytes or answers came through although the kernel had reported that there is no route, so its table is
    /// not the one by which the workers send. Until the kernel names a route again, its report alone opens
    /// nothing.
    package private(set) var contradictsRoutes = false
    /// The last report since then. It counts unless something comes through within ``minSilence``.
    private var doubtedLoss: RouteLoss?
    private var permit = ProbePermit(dueAt: .zero)
    /// Probes that have heard nothing in their turn and still wait for their connect.
    private var silentProbes: Set<CommandID> = []
    private var halfOpenSince = MonotonicTime.zero
    private var lastProgress = MonotonicTime.zero
    private var acknowledged: Int64 = 0

    package static let failuresToOpen = 3
    package static let minSilence: Duration = .seconds(3)
    package static let silentRoundTrips = 8
    package static let minInterval: Duration = .seconds(1)
    package static let maxInterval: Duration = .seconds(30)
    package static let ageShare = 20
    package static let jitter = 0.2
    /// Workers report what happened up to a quarter of a second ago, and later where they are busy.
    package static let reportDelay: Duration = .seconds(1)
    package static let bytesToClose: Int64 = 64_000
    package static let halfOpenTimeout: Duration = .seconds(5)
    /// The next probe may go when one has heard nothing for this time, although its connect lasts 10 s: its
    /// SYNs after 1 and 3 s are sent, and the link may come back right after one that was lost.
    package static let probeTimeout: Duration = .seconds(2)

    /// A closed one.
    package init() {}

    /// An open one, as another coordinator left it; the first probe goes at once.
    package init(openFor reason: LinkReason, now: MonotonicTime) { open(reason, now: now, firstProbe: now) }

    // MARK: Whether a command may go

    package var isClosed: Bool { state == .closed }

    /// When the next probe may go; nil while it is not open or a probe is under way.
    package var nextProbe: MonotonicTime? { state == .open ? permit.nextAt : nil }

    /// Whether a probe may go now.
    package func isProbeDue(now: MonotonicTime) -> Bool {
        switch state {
        case .closed, .halfOpen: false
        case .open: permit.isFree(now: now)
        }
    }

    /// Commands have failed for the link, and none was answered since.
    package var isFailing: Bool { !isClosed || !failed.isEmpty }

    /// The command is a probe that is under way.
    package func isProbe(_ id: CommandID) -> Bool {
        !isClosed && (permit.holder == id || silentProbes.contains(id))
    }

    // MARK: Commands

    /// The command goes out; while the circuit breaker is open, it is the probe.
    package mutating func offered(_ id: CommandID, now: MonotonicTime) {
        if state == .open { permit.take(id, now: now) }
    }

    /// The command was cancelled, preempted or not claimed, so it tells nothing: the next probe goes at once.
    package mutating func withdrawn(_ id: CommandID, now: MonotonicTime) {
        silentProbes.remove(id)
        guard permit.giveBack(id) else { return }
        permit.dueAt = now
        if state == .halfOpen { state = .open }
    }

    /// The command ended in a way that says nothing of the link: the next probe goes an interval later.
    package mutating func undecided(_ id: CommandID, chance: Double, now: MonotonicTime) {
        silentProbes.remove(id)
        guard permit.giveBack(id) else { return }
        if state == .halfOpen { state = .open }
        schedule(chance: chance, now: now)
    }

    /// The destination answered, with success or failure.
    package mutating func answered(_ id: CommandID?, now: MonotonicTime) -> Event? {
        failed = []
        refute(now: now)
        if let id {
            silentProbes.remove(id)
            _ = permit.giveBack(id)
            if isBeforeLoss(now) { return nil }
        }
        return close()
    }

    /// The command failed for the link.
    /// - Parameters:
    ///   - text: what it reported.
    ///   - chance: in 0..<1, decides the jitter.
    package mutating func failed(_ id: CommandID, text: String, chance: Double, now: MonotonicTime) -> Event? {
        guard isClosed else {
            // Without a route every probe fails, and says less about the cause than the kernel does.
            if routeLostAt == nil { self.reason = .failures(text) }
            silentProbes.remove(id)
            if permit.giveBack(id) || state == .halfOpen { schedule(chance: chance, now: now) }
            state = .open
            return nil
        }
        failed.insert(id)
        guard failed.count >= Self.failuresToOpen else { return nil }
        open(
            .failures(text, count: failed.count), now: now,
            firstProbe: now + Self.interval(age: .zero, chance: chance))
        return .opened
    }

    // MARK: Bytes, routes and time

    /// Bytes were acknowledged, the probe's or those of a transfer that survived the outage.
    package mutating func progressed(_ bytes: Int64, now: MonotonicTime) -> Event? {
        failed = []
        if bytes > 0 { refute(now: now) }
        guard bytes > 0, !isClosed, !isBeforeLoss(now) else { return nil }
        if state == .open {
            state = .halfOpen
            halfOpenSince = now
            acknowledged = 0
        }
        lastProgress = now
        acknowledged += min(bytes, Self.bytesToClose)
        return acknowledged >= Self.bytesToClose ? close() : nil
    }

    /// Nothing was acknowledged for a time with bytes in flight: a blackhole, which no error reports.
    /// - Parameter srtt: smoothed round trip of the transfers; nil where unknown.
    package mutating func silent(
        for silence: Duration, srtt: Duration?, chance: Double, now: MonotonicTime
    ) -> Event? {
        guard isClosed, silence >= max(Self.minSilence, (srtt ?? .zero) * Self.silentRoundTrips) else { return nil }
        open(
            .silence(silence), now: now, firstProbe: now + Self.interval(age: .zero, chance: chance))
        return .opened
    }

    /// The kernel has no route, or the interface is down: no command waits for a timeout. Bytes that flow
    /// outweigh the report: where they contradicted the routing table before, it counts only after a silence.
    package mutating func routeLost(_ reason: LinkReason, chance: Double, now: MonotonicTime) -> Event? {
        if contradictsRoutes {
            doubtedLoss = RouteLoss(reason: reason, at: now)
            return nil
        }
        routeLostAt = now
        guard isClosed else {
            self.reason = reason
            return nil
        }
        open(reason, now: now, firstProbe: now + Self.interval(age: .zero, chance: chance))
        return .opened
    }

    /// The kernel has a route again, or another one: the next probe goes at once.
    package mutating func routeFound(now: MonotonicTime) {
        routeLostAt = nil
        contradictsRoutes = false
        doubtedLoss = nil
        guard !isClosed else { return }
        permit = ProbePermit(dueAt: now)
    }

    /// Ends half-open by time, because a slow link is not offline; and the turn of a probe that hears
    /// nothing.
    package mutating func tick(chance: Double, now: MonotonicTime) -> Event? {
        if let doubtedLoss, isClosed, now - doubtedLoss.at > Self.minSilence {
            contradictsRoutes = false
            self.doubtedLoss = nil
            return routeLost(doubtedLoss.reason, chance: chance, now: now)
        }
        if state == .open, let holder = permit.holder, now - permit.takenAt >= Self.probeTimeout {
            undecided(holder, chance: chance, now: now)
            silentProbes.insert(holder)
        }
        guard state == .halfOpen, now - halfOpenSince >= Self.halfOpenTimeout else { return nil }
        if now - lastProgress < Self.minSilence { return close() }
        state = .open
        if let holder = permit.holder { _ = permit.giveBack(holder) }
        schedule(chance: chance, now: now)
        return nil
    }

    /// From the start of one probe to the next.
    /// - Parameter age: of the outage.
    package static func interval(age: Duration, chance: Double) -> Duration {
        let plain = min(max(age / ageShare, minInterval), maxInterval)
        return min(plain * (1 + jitter * (2 * chance - 1)), maxInterval)
    }

    // MARK: Transitions

    private mutating func open(_ reason: LinkReason, now: MonotonicTime, firstProbe: MonotonicTime) {
        state = .open
        self.reason = reason
        since = now
        failed = []
        permit = ProbePermit(dueAt: firstProbe)
    }

    private mutating func close() -> Event? {
        guard !isClosed else { return nil }
        let contradictsRoutes = contradictsRoutes || routeLostAt != nil
        self = LinkCircuitBreaker()
        self.contradictsRoutes = contradictsRoutes
        return .closed
    }

    private mutating func schedule(chance: Double, now: MonotonicTime) {
        permit.dueAt = max(permit.takenAt + Self.interval(age: now - since, chance: chance), now)
    }

    /// A report of a worker right after the kernel lost the route is about the time before.
    private func isBeforeLoss(_ now: MonotonicTime) -> Bool { routeLostAt.map { now - $0 < Self.reportDelay } ?? false }

    /// Something came through, so the last report of a lost route is wrong.
    private mutating func refute(now: MonotonicTime) {
        if let doubtedLoss, now - doubtedLoss.at >= Self.reportDelay { self.doubtedLoss = nil }
    }
}

/// The right to send one command to a link whose circuit breaker is open, for one command at a time.
///
/// The command that holds the permit gives it back: by an answer, by a failure, or when it is cancelled or
/// not claimed. A permit that is lost with its holder would keep the circuit breaker open for ever
/// (resilience4j issues 544 and 935).
struct ProbePermit: Sendable, Equatable {
    private(set) var holder: CommandID?
    private(set) var takenAt: MonotonicTime
    /// The next probe does not go before this time.
    var dueAt: MonotonicTime

    /// A probe whose end was not reported loses the permit after this time.
    static let timeout: Duration = .seconds(30)

    init(dueAt: MonotonicTime) {
        self.dueAt = dueAt
        takenAt = dueAt
    }

    func isFree(now: MonotonicTime) -> Bool { now >= (nextAt ?? takenAt + Self.timeout) }

    /// When the next probe may go; nil while one is under way.
    var nextAt: MonotonicTime? { holder == nil ? dueAt : nil }

    mutating func take(_ id: CommandID, now: MonotonicTime) {
        holder = id
        takenAt = now
    }

    /// - Returns: whether the command held the permit.
    mutating func giveBack(_ id: CommandID) -> Bool {
        guard holder == id else { return false }
        holder = nil
        return true
    }
}
