/// How far the last command of a schedule is, for its ``OverlapPolicy``.
package enum ScheduledCommandState: Hashable, Sendable {
    /// It waits in the schedule's lane for the command before it.
    case waiting
    /// It has not ended and does not wait in the lane: it is ready, runs, or waits for its backoff.
    case running
    /// It has ended. A command in doubt counts as ended.
    case ended

    /// - Parameters:
    ///   - status: the status of the command. The one of a flow is `blocked` until its nodes have ended.
    ///   - waitsInLane: another command holds the schedule's lane.
    package init(status: CommandStatus, waitsInLane: Bool) {
        self = status.isFinal ? .ended : waitsInLane ? .waiting : .running
    }
}
