package import Commands

/// Whether a destination takes our credential. Pure; no matter of the link.
///
/// A 401 for three different commands with no success between closes it. One probe a minute goes out until one is let in.
package struct CredentialGate: Sendable, Equatable {
    package private(set) var isClosed = false
    package private(set) var reason: String?
    package private(set) var since: Int64 = 0
    private var refused: Set<CommandID> = []
    private var permit = ProbePermit(dueAt: 0)

    package static let refusalsToClose = 3
    package static let interval: Int64 = 60_000_000_000

    package init() {}

    /// As another coordinator left it; the first probe goes at once.
    package init(closedFor reason: String, now: Int64) {
        isClosed = true
        self.reason = reason
        since = now
        permit = ProbePermit(dueAt: now)
    }

    package func admits(now: Int64) -> Bool { !isClosed || permit.isFree(now: now) }
    package var nextProbe: Int64? { isClosed ? permit.nextAt : nil }

    package mutating func offered(_ id: CommandID, now: Int64) { if isClosed { permit.take(id, now: now) } }
    package mutating func withdrawn(_ id: CommandID, now: Int64) { if permit.giveBack(id) { permit.dueAt = now } }

    /// The destination did something else than refuse the credential. - Returns: whether the gate opened.
    package mutating func accepted() -> Bool {
        defer { self = CredentialGate() }
        return isClosed
    }

    /// - Returns: whether the gate closed.
    package mutating func refused(_ id: CommandID, reason: String, now: Int64) -> Bool {
        _ = permit.giveBack(id)
        permit.dueAt = now + Self.interval
        self.reason = reason
        refused.insert(id)
        guard !isClosed, refused.count >= Self.refusalsToClose else { return false }
        isClosed = true
        since = now
        return true
    }
}
