internal import Commands
package import Store

/// Sessions whose seat is taken and that have said no hello to this coordinator. Pure.
///
/// A worker that hangs since before the coordinator began says nothing, and its lock is held: without this, what it was
/// executing would be its own for ever.
package struct UnresponsiveWorkers: Sendable {
    private struct UnresponsiveWorker: Sendable {
        var session: Session
        /// The coordinator's own waking time since it was found, in nanoseconds.
        var stillFor: Int64 = 0
        var isKnown = false
    }

    /// By epoch.
    private var absences: [Int64: UnresponsiveWorker] = [:]

    package init() {}

    /// All that there are now; the others have come, or are reaped.
    package mutating func found(_ sessions: [Session]) {
        let before = absences
        absences = [:]
        for session in sessions {
            absences[session.epoch] = before[session.epoch] ?? UnresponsiveWorker(session: session)
        }
    }

    /// A worker sits there and has said hello, or its death was seen.
    package mutating func settled(seat: Int) { absences = absences.filter { $0.value.session.seat != seat } }

    /// - Parameter elapsed: the coordinator's own waking time since the last call, in nanoseconds.
    package mutating func waited(_ elapsed: Int64) {
        for epoch in absences.keys { absences[epoch]?.stillFor += elapsed }
    }

    /// Those that have been silent for longer, and whether this is the first time that it is said of them.
    package mutating func overdue(_ longest: Int64) -> [(session: Session, isNew: Bool)] {
        let overdue = absences.values.filter { $0.stillFor > longest }
        for absence in overdue { absences[absence.session.epoch]?.isKnown = true }
        return overdue.map { ($0.session, !$0.isKnown) }
    }
}
