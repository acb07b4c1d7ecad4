/// Decides when a schedule fires. Pure: the same state at the same time gives the same decision in every
/// coordinator.
///
/// A due time is *missed* when it is further back than the grace. The policy for missed times chooses the newest
/// of them. Those and the times that are not missed follow the policy for overlaps, the oldest first. The past is
/// searched backwards from now and counted month by month, so that a long outage costs no more than a short one.
package struct ScheduleTiming: Sendable {
    package let definition: ScheduleDefinition
    /// The offsets of the zone, or why they are missing. UTC never stands in for a missing zone.
    package let zone: Result<TimeZoneOffsets, TimeZoneError>

    /// The most commands that one decision inserts.
    package static let maxFires = MissedPolicy.maxCount

    /// A step back of the clock that is longer means that it was wrong before. A smaller one is waited for, so that no fixed
    /// time fires twice. The limit is the one of Debian's cron.
    private static let maxWaitedStep = Duration.seconds(3 * 3600)
    /// The same of an expression that fires in each hour: it continues at the new time at once, as in Debian's cron.
    package static let maxWaitedStepOfInterval = Duration.seconds(10)

    package init(_ definition: ScheduleDefinition, zone: Result<TimeZoneOffsets, TimeZoneError>) {
        self.definition = definition
        self.zone = zone
    }

    /// Reads the zone from a database.
    package init(_ definition: ScheduleDefinition, in database: TimeZoneDatabase) {
        let read = Result { () throws(TimeZoneError) in try database.zone(named: definition.zone) }
        self.init(definition, zone: read)
    }

    /// Whether a decision may change the state: a time is due, or the clock was put back.
    ///
    /// A schedule without a next time needs a decision when its zone may have come back, and each schedule when
    /// the files of the zones have changed: its next time is computed anew.
    package static func isDue(_ state: ScheduleState, now: Timestamp) -> Bool {
        guard !state.paused else { return false }
        return state.next.map { $0 <= now } ?? false || now < state.since - maxWaitedStepOfInterval
    }

    private var maxWaitedStep: Duration {
        definition.expression.isInterval ? Self.maxWaitedStepOfInterval : Self.maxWaitedStep
    }

    /// Whether the schedule waits until a clock that was set back shows the time of its last decision again.
    package func waitsForClock(_ state: ScheduleState, now: Timestamp) -> Bool {
        !state.paused && now < state.since - Self.maxWaitedStepOfInterval && now >= state.since - maxWaitedStep
    }

    /// Decides all times up to and including now.
    /// - Parameters:
    ///   - now: the wall clock.
    ///   - last: the command ``ScheduleState/lastID``; nil where there is none, or where it was pruned.
    package func decision(
        for state: ScheduleState, now: Timestamp, last: ScheduledCommandState?
    ) -> ScheduleDecision {
        var decision = ScheduleDecision(since: state.since, last: state.last)
        guard !state.paused else { return decision }
        let offsets: TimeZoneOffsets
        switch zone {
        case .success(let zone): offsets = zone
        case .failure(let error):
            decision.reason = error.description
            return decision
        }
        if now < state.since - maxWaitedStep {
            decision.since = now
            decision.clockWasSetBack = true
        }
        let expression = definition.expression
        guard let newest = expression.previous(atOrBefore: now, in: offsets), newest > decision.since else {
            decision.next = expression.next(after: decision.since, in: offsets)
            return decision
        }

        // Times after this one are not missed. A time is missed when it is further back than the grace.
        let missedEnd = max(decision.since, now - definition.grace - .milliseconds(1))
        let missed = expression.count(after: decision.since, through: missedEnd, in: offsets)
        let onTime = expression.count(after: missedEnd, through: now, in: offsets)
        let due = min(min(missed, definition.missed.limit) + onTime, Self.maxFires)
        decision.skippedByMissed = missed + onTime - due
        overlap(times(due, through: newest, in: offsets), after: last, in: offsets, &decision)
        decision.since = newest
        decision.next = expression.next(after: newest, in: offsets)
        return decision
    }

    /// The newest times up to and including one, the oldest first.
    private func times(_ count: Int, through newest: Timestamp, in zone: TimeZoneOffsets) -> [Timestamp] {
        guard count > 0 else { return [] }
        var times = [newest]
        while times.count < count, let time = definition.expression.previous(before: times[times.count - 1], in: zone) {
            times.append(time)
        }
        return times.reversed()
    }

    /// Chooses the due times that fire.
    private func overlap(
        _ due: [Timestamp], after last: ScheduledCommandState?, in zone: TimeZoneOffsets,
        _ decision: inout ScheduleDecision
    ) {
        guard !due.isEmpty else { return }
        let isFree = last == nil || last == .ended
        let chosen: ArraySlice<Timestamp>
        switch definition.overlap {
        case .allow: chosen = due[...]
        case .skip: chosen = isFree ? due.prefix(1) : []
        case .queue:
            chosen = due.prefix(isFree ? 2 : last == .running ? 1 : 0)
            decision.queues = chosen.count == (isFree ? 2 : 1)
        case .cancel:
            // Each time would cancel the command of the one before: only the newest is worth an insert.
            chosen = due.suffix(1)
            decision.cancelsLast = !isFree
            decision.queues = !isFree
        }
        decision.fires = chosen.map { ScheduledTime(nominal: $0, notBefore: notBefore(of: $0, in: zone)) }
        decision.skippedByOverlap = due.count - chosen.count
        decision.last = chosen.last ?? decision.last
    }
}

extension Timestamp {
    /// The time that is earlier by a duration, clamped to the range of the type.
    fileprivate static func - (time: Timestamp, duration: Duration) -> Timestamp {
        let (difference, overflow) = time.milliseconds.subtractingReportingOverflow(duration.milliseconds)
        return Timestamp(milliseconds: overflow ? (duration > .zero ? .min : .max) : difference)
    }
}
