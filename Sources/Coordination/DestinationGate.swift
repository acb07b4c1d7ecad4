package import Commands

/// Whether commands may go to a destination: open, broken by its link, or paused for its credential. Pure.
///
/// Five failures of the link in a row, with no success between, break it; its commands wait, and one probe at a time goes
/// out, 1 s to 30 s apart, until one succeeds (or is refused for what it is, 4xx, which the link has brought as well). A
/// 401 for three different commands with no success between pauses it, with a probe every minute.
package struct DestinationGate: Sendable, Equatable {
    package enum State: Sendable, Equatable {
        case open
        case broken
        case paused

        package var name: String {
            switch self {
            case .open: "open"
            case .broken: "broken"
            case .paused: "paused"
            }
        }
    }

    package private(set) var state = State.open
    package private(set) var reason: String?
    /// When it closed, by the wall clock; survives a restart of the coordinator.
    package private(set) var since: Timestamp?
    private var failures = 0
    private var unauthorized: Set<CommandID> = []
    private var interval: Int64 = 0
    private var probeAt: Int64 = 0
    private var probe: (id: CommandID, at: Int64)?

    package static let failuresToBreak = 5
    package static let unauthorizedToPause = 3
    package static let shortestProbe: Int64 = 1_000_000_000
    package static let longestProbe: Int64 = 30_000_000_000
    package static let credentialProbe: Int64 = 60_000_000_000
    /// A probe whose end nobody reported is forgotten after this.
    private static let probePatience: Int64 = 120_000_000_000
    /// Unreachable for so long: its commands are given up.
    package static let unreachable: Duration = .seconds(7 * 86_400)

    package init() {}

    /// As it stood before a restart; the first probe goes out at once.
    package init(state: State, reason: String?, since: Timestamp?) {
        self.state = state
        self.reason = reason
        self.since = since
        interval = state == .paused ? Self.credentialProbe : Self.shortestProbe
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.state == right.state && left.reason == right.reason && left.since == right.since
            && left.failures == right.failures && left.unauthorized == right.unauthorized
            && left.interval == right.interval && left.probeAt == right.probeAt && left.probe?.id == right.probe?.id
    }

    /// Whether a command may be offered now; where it is closed, one probe at a time may.
    package func admits(now: Int64) -> Bool { state == .open || isProbeDue(now: now) }

    /// When the next probe may go out; nil while it is open or one is under way.
    package var nextProbe: Int64? { state == .open || probe != nil ? nil : probeAt }

    /// The command goes out; where the gate is closed it is the probe.
    package mutating func offered(_ id: CommandID, now: Int64) {
        if state != .open { probe = (id, now) }
    }

    /// It was offered and nobody took it.
    package mutating func withdrawn(_ id: CommandID) { if probe?.id == id { probe = nil } }

    /// The destination has said yes, or no for good. - Returns: whether the gate opened.
    package mutating func answered(_ id: CommandID) -> Bool {
        failures = 0
        if probe?.id == id { probe = nil }
        unauthorized = []
        guard state != .open else { return false }
        self = DestinationGate()
        return true
    }

    /// It ended in what speaks neither for the destination nor against its link, such as a 500.
    package mutating func undecided(_ id: CommandID, now: Int64) {
        guard probe?.id == id else { return }
        probe = nil
        if state != .open { schedule(now: now) }
    }

    /// The link failed. - Returns: whether the gate closed.
    package mutating func failed(_ id: CommandID, reason: String?, at: Timestamp, now: Int64) -> Bool {
        failures += 1
        if probe?.id == id { probe = nil }
        if state != .open {
            self.reason = reason
            schedule(now: now)
            return false
        }
        guard failures >= Self.failuresToBreak else { return false }
        close(.broken, reason: reason, at: at, interval: Self.shortestProbe, now: now)
        return true
    }

    /// The destination did not accept the credential. - Returns: whether the gate closed.
    package mutating func refused(_ id: CommandID, reason: String?, at: Timestamp, now: Int64) -> Bool {
        failures = 0
        if probe?.id == id { probe = nil }
        unauthorized.insert(id)
        if state == .paused {
            schedule(now: now)
            return false
        }
        guard unauthorized.count >= Self.unauthorizedToPause else { return false }
        close(.paused, reason: reason, at: at, interval: Self.credentialProbe, now: now)
        return true
    }

    private func isProbeDue(now: Int64) -> Bool {
        if let probe, now - probe.at < Self.probePatience { return false }
        return now >= probeAt
    }

    private mutating func close(_ state: State, reason: String?, at: Timestamp, interval: Int64, now: Int64) {
        self.state = state
        self.reason = reason
        since = at
        self.interval = interval
        probeAt = now + interval
    }

    private mutating func schedule(now: Int64) {
        probeAt = now + interval
        if state == .broken { interval = min(interval * 2, Self.longestProbe) }
    }
}
