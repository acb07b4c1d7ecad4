internal import Commands

/// The schedules that a round looks at.
package enum ScheduleScope: Sendable, Equatable {
    /// Those whose next time has come.
    case due
    /// Those that a missing zone holds, and those of a clock that was set back since, in the order of their names, behind
    /// this one.
    case held(after: String?)
    /// All that are not paused, in the order of their names, behind this one: the files of zones may have changed.
    case all(after: String?)
    /// One, whether it is due or not.
    case named(String)

    var isTrigger: Bool { if case .named = self { true } else { false } }

    /// A schedule that has decided times behind this one has seen a clock that was set back since.
    static func clockBound(_ now: Timestamp) -> Timestamp { now + ScheduleTiming.maxWaitedStepOfInterval }
}
