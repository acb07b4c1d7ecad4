/// The outcome of a schedule at one moment. It is applied as a whole in one transaction, or not at all.
package struct ScheduleDecision: Hashable, Sendable {
    /// The times for which a command is inserted, the oldest first; at most ``ScheduleTiming/maxFires``.
    package var fires: [ScheduledTime] = []
    /// Missed times that the policy drops.
    package var skippedByMissed = 0
    /// Due times that do not fire because an earlier command has not ended.
    package var skippedByOverlap = 0
    /// The last command is cancelled.
    package var cancelsLast = false
    /// The last of ``fires`` waits for another command in the schedule's lane.
    package var queues = false
    /// The clock was put back, by three hours or more where the times are fixed: the times from now on count again.
    package var clockWasSetBack = false
    package var since: Timestamp
    package var next: Timestamp?
    package var last: Timestamp?
    package var reason: String?

    package init(since: Timestamp, last: Timestamp?) {
        self.since = since
        self.last = last
    }

    /// Due times that do not fire.
    package var skipped: Int { skippedByMissed + skippedByOverlap }

    /// Whether there is something to write.
    package func changes(_ state: ScheduleState) -> Bool {
        !fires.isEmpty || skipped > 0 || since != state.since || next != state.next || reason != state.reason
    }
}
