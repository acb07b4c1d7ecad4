/// The part of a schedule that changes as time passes: a row in the shard of its commands.
///
/// A row changes in the transaction that inserts the commands, and only where ``next`` (and, better, ``since``
/// with it) still has the value that was read: compare-and-swap.
package struct ScheduleState: Hashable, Sendable {
    /// All times up to and including this one are decided. It begins with the time of the put, moves to each
    /// decided nominal time, and to the present when the schedule is resumed.
    package var since: Timestamp
    /// The first time after ``since``; nil while the schedule is paused, while its zone is missing, and where no
    /// time follows.
    package var next: Timestamp?
    /// The newest nominal time that fired; nil before the first.
    package var last: Timestamp?
    /// The command or flow of ``last``.
    package var lastID: CommandID?
    /// Times that fired.
    package var fired: Int64
    /// Times that did not fire, because they were missed or because of an overlap.
    package var skipped: Int64
    package var paused: Bool
    /// Why the schedule has no next time, in a sentence; nil while nothing holds it.
    package var reason: String?

    package init(
        since: Timestamp, next: Timestamp?, last: Timestamp? = nil, lastID: CommandID? = nil, fired: Int64 = 0,
        skipped: Int64 = 0, paused: Bool = false, reason: String? = nil
    ) {
        self.since = since
        self.next = next
        self.last = last
        self.lastID = lastID
        self.fired = fired
        self.skipped = skipped
        self.paused = paused
        self.reason = reason
    }

    /// The state after a decision.
    /// - Parameter id: the command of the last of the times that fire; it is ignored where none fires.
    package func applying(_ decision: ScheduleDecision, id: CommandID?) -> ScheduleState {
        var state = self
        state.since = decision.since
        state.next = decision.next
        state.last = decision.last
        if !decision.fires.isEmpty { state.lastID = id }
        state.fired = Self.sum(fired, decision.fires.count)
        state.skipped = Self.sum(skipped, decision.skipped)
        state.reason = decision.reason
        return state
    }

    /// Counters that reach the largest number stay there.
    private static func sum(_ count: Int64, _ more: Int) -> Int64 {
        let (sum, overflow) = count.addingReportingOverflow(Int64(more))
        return overflow ? .max : sum
    }
}

/// A schedule in a store.
package struct StoredSchedule: Sendable, Equatable {
    package var definition: ScheduleDefinition
    package var action: ScheduleAction
    package var state: ScheduleState
    /// `sluice.yaml` has written its text last, and removes it.
    package var isConfigured = false

    package init(definition: ScheduleDefinition, action: ScheduleAction, state: ScheduleState) {
        self.definition = definition
        self.action = action
        self.state = state
    }

    package var name: String { definition.name }
}
