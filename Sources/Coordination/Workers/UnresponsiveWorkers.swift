internal import Commands
package import Store
package import Wire

/// Workers that hold the lock of a seat and have said no hello to this coordinator. Pure.
///
/// A worker that has hung since before the coordinator started says nothing and holds its lock. Without this,
/// the commands that it was executing would never be released.
package struct UnresponsiveWorkers: Sendable {
    private struct UnresponsiveWorker: Sendable {
        var session: Session
        /// The coordinator's own waking time since it was found.
        var silentFor = Duration.zero
        var isReported = false
    }

    /// By epoch.
    private var workers: [Int64: UnresponsiveWorker] = [:]

    package init() {}

    /// Takes in all sessions without a registered worker. The workers of other sessions have registered or
    /// are reaped.
    package mutating func replace(with sessions: [Session]) {
        let before = workers
        workers = [:]
        for session in sessions {
            workers[session.epoch] = before[session.epoch] ?? UnresponsiveWorker(session: session)
        }
    }

    /// A worker in the seat has said hello, or has died.
    package mutating func remove(seat: Int) { workers = workers.filter { $0.value.session.seat != seat } }

    /// - Parameter awake: the coordinator's own waking time since the last call.
    package mutating func advance(awake: Duration) {
        for epoch in workers.keys { workers[epoch]?.silentFor += awake }
    }

    /// The worker could not have said anything until now.
    package mutating func excuse(epoch: Int64) { workers[epoch]?.silentFor = .zero }

    /// Workers that have been silent for longer than `timeout`, and whether each is returned for the first
    /// time.
    package mutating func overdue(_ timeout: Duration) -> [(session: Session, isNew: Bool)] {
        let overdue = workers.values.filter { $0.silentFor > timeout }
        for worker in overdue { workers[worker.session.epoch]?.isReported = true }
        return overdue.map { ($0.session, !$0.isReported) }
    }
}

/// Workers whose frames this program cannot read, because they are of another release. Pure.
///
/// Such a worker is never killed for lack of progress, and its death charges no command: this coordinator cannot see what
/// the worker does. Its death is still proven by the lock of its seat.
package struct ForeignWorkers: Sendable {
    /// By seat, the epoch of the worker.
    private var epochs: [Int: Int64] = [:]

    package init() {}

    package func contains(seat: Int, epoch: Int64) -> Bool { epochs[seat] == epoch }

    /// A frame of a worker cannot be read. A message of an unknown type says nothing about the others.
    /// - Returns: whether this is the first of the worker.
    package mutating func received(_ error: WireError, from sender: FrameHead) -> Bool {
        if case .unknownType = error.problem { return false }
        guard sender.seat != FrameHead.noSeat else { return false }
        return epochs.updateValue(sender.epoch, forKey: sender.seat) != sender.epoch
    }

    /// The worker of the seat is dead.
    package mutating func remove(seat: Int) { epochs[seat] = nil }
}
