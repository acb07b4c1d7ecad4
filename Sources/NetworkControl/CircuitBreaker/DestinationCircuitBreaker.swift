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
    }

    package struct Outage: Sendable, Equatable {
        package fileprivate(set) var cause: Cause
        /// The last answer of the destination, in a sentence.
        package fileprivate(set) var reason: String
        /// When the circuit breaker opened.
        package let since: MonotonicTime
        /// When a command last failed there without being accepted, by command.
        fileprivate var failures: [CommandID: MonotonicTime] = [:]
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
    /// From the end of one probe to the next.
    private let interval: Duration

    package static let refusalsToOpen = 3
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
        state = .open(Outage(cause: cause, reason: reason, since: since), nextProbe: now)
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

    /// Whether a probe may go now.
    package func isProbeDue(now: MonotonicTime) -> Bool {
        switch state {
        case .closed: false
        case .open(_, let at): now >= at
        case .halfOpen(_, _, let since): now - since >= interval * Self.probeIntervals
        }
    }

    /// When the command last failed there; nil if it has not since the circuit breaker opened. The command
    /// that failed longest ago is the next probe, so that one that always fails does not keep the others from
    /// being tried.
    package func lastFailure(of id: CommandID) -> MonotonicTime? { outage?.failures[id] }

    /// Commands that failed since it opened. Each also waits for its own `notBefore`.
    package var failed: [CommandID] { outage.map { Array($0.failures.keys) } ?? [] }

    // MARK: Events

    /// The command goes out; while the circuit breaker is not closed, it is the probe.
    package mutating func offered(_ id: CommandID, now: MonotonicTime) {
        guard let outage else { return }
        state = .halfOpen(outage, probe: id, since: now)
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
        state = .open(outage, nextProbe: now + interval)
    }

    /// The destination refused a command for a reason of its own.
    package mutating func refused(_ id: CommandID, _ cause: Cause, reason: String, now: MonotonicTime) {
        switch state {
        case .closed(var refused, let exceptions):
            refused.insert(id)
            let isAlone = cause == .credential || exceptions.contains(id)
            guard !isAlone || refused.count >= Self.refusalsToOpen else {
                state = .closed(refused: refused, exceptions: exceptions)
                return
            }
            var outage = Outage(cause: cause, reason: reason, since: now)
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

    fileprivate mutating func note(_ id: CommandID, now: MonotonicTime) {
        if failures.count >= DestinationCircuitBreaker.maxFailures, failures[id] == nil,
            let oldest = failures.min(by: { $0.value < $1.value })
        {
            failures[oldest.key] = nil
        }
        failures[id] = now
    }
}
