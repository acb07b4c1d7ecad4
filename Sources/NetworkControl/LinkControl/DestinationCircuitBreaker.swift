package import Commands
package import Host

/// Whether a destination that can be reached takes commands at all. Pure. ``LinkCircuitBreaker`` does the
/// same for a link.
///
/// A failure of the destination opens it at once; refused credentials open it after three different commands
/// with no acceptance between them, because one command may have a credential of its own. While it is open,
/// one probe at a time goes out, the first an interval after it opened. The first acceptance, of a probe or
/// of a command that was sent earlier, closes it. It has one reason, the newest.
///
/// While every answer is 503, a command for another URL is a better probe than one that was answered 503, because often
/// only some URLs of a server are unavailable. Such a probe goes at once, at most one a second and 8 in a row; any
/// command after 1 s, then after twice as long each time, at most 30 s.
///
/// Where no command has asked for 30 s, the next one is a probe at once: the last answer is old.
///
/// A command that failed while it was open and fails again after another was accepted, such as the one file
/// that exceeds a quota, counts like a refused credential: alone it does not hold up other commands.
///
/// ```
///            refused                     offered
///   closed ────────────► open ─────────────────────────────► half-open
///     ▲                  │  ▲                                  │   │
///     │                  │  └──────────────────────────────────┘   │
///     │                  │    refused, undecided: next probe an    │
///     │                  │    interval later; withdrawn: at once   │
///     └──────────────────┴──────────── accepted ───────────────────┘
/// ```
///
/// The time of an open circuit breaker does not count towards the 7 days after which commands of an
/// unreachable destination are given up. A command waits until it is accepted, its deadline passes or a
/// person cancels it.
package struct DestinationCircuitBreaker: Sendable, Equatable {
    /// The part that the destination refuses.
    package enum Cause: String, Sendable, Equatable {
        /// The credential (401).
        case credential
        /// Every command: certificate, demanded client certificate, captive portal, 507.
        case destination
        /// Every command, by 503: the last three answers, to different commands.
        case unavailable
    }

    package struct Outage: Sendable, Equatable {
        package fileprivate(set) var cause: Cause
        /// The last answer of the destination, in a sentence.
        package fileprivate(set) var reason: String
        /// When the circuit breaker opened.
        package let since: MonotonicTime
        /// When a command last failed there without being accepted, by command.
        fileprivate var failures: [CommandID: MonotonicTime] = [:]
        /// URLs that were answered 503.
        fileprivate var targets: Set<CommandTarget> = []
        /// Probes for other URLs: how many have failed in a row, and when the next may go.
        fileprivate var otherProbes = 0
        fileprivate var nextOther = MonotonicTime.zero
        /// Whether the present probe is for another URL, and when the next of any command goes after it.
        fileprivate var isProbingOther = false
        fileprivate var nextAny = MonotonicTime.zero
        /// From a probe that is answered 503 to the next of any command.
        fileprivate var wait = DestinationCircuitBreaker.minWait

        fileprivate init(_ cause: Cause, reason: String, since: MonotonicTime) {
            self.cause = cause
            self.reason = reason
            self.since = since
        }

        fileprivate func mayProbeOther(now: MonotonicTime) -> Bool {
            cause == .unavailable && otherProbes < DestinationCircuitBreaker.maxOtherProbes && now >= nextOther
        }

        fileprivate func isOther(_ id: CommandID, _ target: CommandTarget?) -> Bool {
            failures[id] == nil && target.map { !targets.contains($0) } ?? true
        }
    }

    package enum State: Sendable, Equatable {
        /// Commands flow.
        /// - refused: commands that were refused since the last acceptance.
        /// - exceptions: commands that failed while it was open, and have not been accepted since.
        case closed(refused: Set<CommandID>, exceptions: Set<CommandID>)
        /// Nothing goes until the time of the next probe.
        case open(Outage, nextProbe: MonotonicTime)
        /// One command, the probe, is under way.
        case halfOpen(Outage, probe: CommandID, since: MonotonicTime)
    }

    package private(set) var state = State.closed(refused: [], exceptions: [])
    /// The newest refusal since the last acceptance, in a sentence, while too few commands were refused to open it.
    package private(set) var refusal: String?
    /// From the end of one probe to the next, unless the cause is 503.
    private let interval: Duration
    /// Commands whose answers were 503, without another answer between them.
    private var unavailable: [CommandID: CommandTarget?] = [:]
    /// When a command last asked for it, or waited for it.
    private var askedAt = MonotonicTime.zero

    package static let refusalsToOpen = 3
    /// Probes for other URLs in a row, and the time from one to the next.
    package static let maxOtherProbes = 8
    package static let otherInterval: Duration = .seconds(1)
    /// From one probe of any command to the next, while every answer is 503.
    package static let minWait: Duration = .seconds(1)
    package static let maxWait: Duration = .seconds(30)
    /// After this time without a command that asks, the next one is a probe at once.
    package static let idleTimeout: Duration = .seconds(30)
    /// As ``probeIntervals``, while every answer is 503.
    private static let unavailableProbeTimeout: Duration = .seconds(10)
    /// After this number of intervals the next probe goes although one has not ended: its end may be lost, or
    /// it is large.
    package static let probeIntervals = 10
    /// Failures remembered to choose probes by, so that a large backlog costs bounded memory.
    package static let maxFailures = 1024

    /// A closed one.
    /// - Parameter interval: from the end of one probe to the next.
    package init(interval: Duration) { self.interval = interval }

    /// An open one, as another coordinator left it; the first probe goes at once.
    package init(openFor cause: Cause, reason: String, since: MonotonicTime, interval: Duration, now: MonotonicTime) {
        self.interval = interval
        state = .open(Outage(cause, reason: reason, since: since), nextProbe: now)
        askedAt = now
    }

    // MARK: Whether a command may go

    package var isClosed: Bool { outage == nil }

    /// Why it is open; nil while it is closed.
    package var outage: Outage? {
        switch state {
        case .closed: nil
        case .open(let outage, _), .halfOpen(let outage, _, _): outage
        }
    }

    /// When the next probe may go; nil while it is closed or a probe is under way.
    package var nextProbe: MonotonicTime? {
        switch state {
        case .closed, .halfOpen: nil
        case .open(_, let at): at
        }
    }

    /// When the next probe may go, also one for a URL that was not answered 503.
    package var nextAttempt: MonotonicTime? {
        guard case .open(let outage, let at) = state else { return nil }
        return outage.mayProbeOther(now: .distantFuture) ? min(at, outage.nextOther) : at
    }

    /// Whether a probe may go now, of some command.
    package func isProbeDue(now: MonotonicTime) -> Bool {
        switch state {
        case .closed: false
        case .open(let outage, let at): now >= at || outage.mayProbeOther(now: now)
        case .halfOpen(let outage, _, let since):
            now - since
                >= (outage.cause == .unavailable ? Self.unavailableProbeTimeout : interval * Self.probeIntervals)
        }
    }

    /// Whether this command may be the probe now.
    /// - Parameter target: the URL that it asks for, where it is known.
    package func mayProbe(_ id: CommandID, _ target: CommandTarget?, now: MonotonicTime) -> Bool {
        guard case .open(let outage, let at) = state else { return isProbeDue(now: now) }
        return now >= at || outage.mayProbeOther(now: now) && outage.isOther(id, target)
    }

    /// Whether neither the command nor its URL was answered 503.
    package func isOther(_ id: CommandID, _ target: CommandTarget?) -> Bool { outage?.isOther(id, target) ?? true }

    /// When the command last failed there; nil if it has not since the circuit breaker opened. The command
    /// that failed longest ago is the next probe, so that one that always fails does not keep the others from
    /// being tried.
    package func lastFailure(of id: CommandID) -> MonotonicTime? { outage?.failures[id] }

    /// Commands that failed since it opened. Each also waits for its own `notBefore`.
    package var failed: [CommandID] { outage.map { Array($0.failures.keys) } ?? [] }

    // MARK: Events

    /// The command goes out; while the circuit breaker is not closed, it is the probe.
    package mutating func offered(_ id: CommandID, _ target: CommandTarget? = nil, now: MonotonicTime) {
        guard var outage else { return }
        askedAt = now
        outage.isProbingOther = outage.mayProbeOther(now: now) && outage.isOther(id, target)
        if outage.isProbingOther {
            outage.otherProbes += 1
            outage.nextOther = now + Self.otherInterval
        }
        if case .open(_, let nextProbe) = state { outage.nextAny = nextProbe }
        state = .halfOpen(outage, probe: id, since: now)
    }

    /// Commands begin to wait for the destination, or none waits any more.
    package mutating func asked(isAsking: Bool, now: MonotonicTime) {
        if isAsking, now - askedAt >= Self.idleTimeout { probeNow(now) }
        askedAt = now
    }

    /// The command was cancelled, preempted or not claimed, so it tells nothing: the next probe goes at once.
    package mutating func withdrawn(_ id: CommandID, now: MonotonicTime) {
        guard case .halfOpen(let outage, id, _) = state else { return }
        state = .open(outage, nextProbe: now)
    }

    /// The command ended without an answer to the question, as in a 500: the next probe goes an interval
    /// later.
    package mutating func undecided(_ id: CommandID, now: MonotonicTime) {
        guard case .halfOpen(var outage, id, _) = state else { return }
        outage.note(id, now: now)
        probeFailed(outage, now: now)
    }

    private mutating func probeFailed(_ outage: Outage, now: MonotonicTime) {
        var outage = outage
        askedAt = now
        guard outage.cause == .unavailable else {
            state = .open(outage, nextProbe: now + interval)
            return
        }
        if outage.isProbingOther {
            state = .open(outage, nextProbe: outage.nextAny)
        } else {
            outage.wait = min(outage.wait * 2, Self.maxWait)
            state = .open(outage, nextProbe: now + outage.wait)
        }
    }

    /// The destination answered 503.
    /// - Parameter target: the URL that the command asked for, where it is known.
    package mutating func unavailable(
        _ id: CommandID, _ target: CommandTarget?, reason: String, now: MonotonicTime
    ) {
        switch state {
        case .closed:
            unavailable[id] = .some(target)
            guard unavailable.count >= Self.refusalsToOpen else { return }
            var outage = Outage(.unavailable, reason: reason, since: now)
            outage.nextOther = now
            for (id, target) in unavailable { outage.note(id, target, now: now) }
            unavailable = [:]
            askedAt = now
            state = .open(outage, nextProbe: now + outage.wait)
        case .open(var outage, let nextProbe):
            outage.unavailable(id, target, reason: reason, now: now)
            state = .open(outage, nextProbe: nextProbe)
        case .halfOpen(var outage, let probe, let since):
            outage.unavailable(id, target, reason: reason, now: now)
            if probe == id {
                probeFailed(outage, now: now)
            } else {
                state = .halfOpen(outage, probe: probe, since: since)
            }
        }
    }

    /// The destination answered, and neither accepted nor refused the command. So not everything is answered 503; of
    /// the other causes it says nothing.
    package mutating func answeredOtherwise(_ id: CommandID, now: MonotonicTime) {
        unavailable = [:]
        if outage?.cause == .unavailable { accepted(id) } else { undecided(id, now: now) }
    }

    /// The destination refused a command for a reason of its own.
    package mutating func refused(_ id: CommandID, _ cause: Cause, reason: String, now: MonotonicTime) {
        unavailable = [:]
        // Another answer than 503.
        if outage?.cause == .unavailable { state = .closed(refused: [], exceptions: []) }
        askedAt = now
        switch state {
        case .closed(var refused, let exceptions):
            refused.insert(id)
            let isAlone = cause == .credential || exceptions.contains(id)
            guard !isAlone || refused.count >= Self.refusalsToOpen else {
                state = .closed(refused: refused, exceptions: exceptions)
                refusal = reason
                return
            }
            refusal = nil
            var outage = Outage(cause, reason: reason, since: now)
            for id in refused { outage.note(id, now: now) }
            state = .open(outage, nextProbe: now + interval)
        case .open(var outage, let nextProbe):
            outage.refused(id, cause, reason: reason, now: now)
            state = .open(outage, nextProbe: nextProbe)
        case .halfOpen(var outage, let probe, let since):
            outage.refused(id, cause, reason: reason, now: now)
            state =
                probe == id
                ? .open(outage, nextProbe: now + interval) : .halfOpen(outage, probe: probe, since: since)
        }
    }

    /// The destination answered the command with a success, or with a refusal of this command alone.
    package mutating func accepted(_ id: CommandID) {
        unavailable = [:]
        refusal = nil
        switch state {
        case .closed(_, var exceptions):
            exceptions.remove(id)
            state = .closed(refused: [], exceptions: exceptions)
        case .open(let outage, _), .halfOpen(let outage, _, _):
            state = .closed(refused: [], exceptions: Set(outage.failures.keys).subtracting([id]))
        }
    }

    /// Lets the next probe go at once, unless one is under way.
    package mutating func probeNow(_ now: MonotonicTime) {
        guard case .open(let outage, _) = state else { return }
        state = .open(outage, nextProbe: now)
    }
}

extension DestinationCircuitBreaker.Outage {
    fileprivate mutating func refused(
        _ id: CommandID, _ cause: DestinationCircuitBreaker.Cause, reason: String, now: MonotonicTime
    ) {
        self.cause = cause
        self.reason = reason
        note(id, now: now)
    }

    /// Another command was answered 503.
    fileprivate mutating func unavailable(
        _ id: CommandID, _ target: CommandTarget?, reason: String, now: MonotonicTime
    ) {
        if cause == .unavailable { self.reason = reason }
        note(id, target, now: now)
    }

    fileprivate mutating func note(_ id: CommandID, _ target: CommandTarget? = nil, now: MonotonicTime) {
        if let target, targets.count < DestinationCircuitBreaker.maxFailures { targets.insert(target) }
        if failures.count >= DestinationCircuitBreaker.maxFailures, failures[id] == nil,
            let oldest = failures.min(by: { $0.value < $1.value })
        {
            failures[oldest.key] = nil
        }
        failures[id] = now
    }
}
