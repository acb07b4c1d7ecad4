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

/// The changes of a schedule that a person makes. None of them makes a time of the past fire.
extension ScheduleTiming {
    /// The state of a new schedule.
    package func firstState(now: Timestamp, paused: Bool = false) -> ScheduleState {
        let (next, reason) = paused ? (nil, nil) : next(after: now)
        return ScheduleState(since: now, next: next, paused: paused, reason: reason)
    }

    /// The state after another definition of the same name was put.
    ///
    /// With another expression or zone the times up to now are decided. Otherwise the times stay as they are, so
    /// that a time that is due at the moment of the put is not lost: it fires with the new body.
    package func state(_ state: ScheduleState, replacing old: ScheduleDefinition, now: Timestamp) -> ScheduleState {
        guard !definition.hasSameTimes(as: old) else { return state }
        var state = state
        state.since = now
        (state.next, state.reason) = state.paused ? (nil, nil) : next(after: now)
        return state
    }

    /// The state of a schedule that a person pauses.
    package func paused(_ state: ScheduleState) -> ScheduleState {
        var state = state
        state.paused = true
        (state.next, state.reason) = (nil, nil)
        return state
    }

    /// The state of a schedule that a person resumes. The times of the pause are not missed.
    package func resumed(_ state: ScheduleState, now: Timestamp) -> ScheduleState {
        guard state.paused else { return state }
        var state = state
        state.paused = false
        state.since = now
        (state.next, state.reason) = next(after: now)
        return state
    }

    private func next(after time: Timestamp) -> (next: Timestamp?, reason: String?) {
        switch zone {
        case .success(let zone): (definition.expression.next(after: time, in: zone), nil)
        case .failure(let error): (nil, error.description)
        }
    }
}

extension ScheduleTiming {
    /// The nominal time with its jitter.
    ///
    /// The jitter is FNV-1a (64 bits) of the bytes of the unique key, its upper half folded into the lower by
    /// exclusive or, modulo the smaller of the definition's jitter and half of the gap to the next nominal time,
    /// in milliseconds. It depends on the name and the time alone, and is the same after a failover.
    func notBefore(of nominal: Timestamp, in zone: TimeZoneOffsets) -> Timestamp {
        var limit = definition.jitter.milliseconds
        guard limit > 0 else { return nominal }
        if let next = definition.expression.next(after: nominal, in: zone) {
            limit = min(limit, (next - nominal).milliseconds / 2)
        }
        guard limit > 0 else { return nominal }
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in definition.uniqueKey(of: nominal).utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return nominal + .milliseconds(Int64((hash >> 32 ^ hash & 0xFFFF_FFFF) % UInt64(limit)))
    }
}

extension ScheduleTiming {
    /// The next times after `time`, also of a paused schedule.
    /// - Parameter count: from 0 to 1,000; a larger number counts as 1,000.
    /// - Throws: ``TimeZoneError`` where the zone is missing.
    package func upcoming(_ count: Int, after time: Timestamp) throws(TimeZoneError) -> [UpcomingTime] {
        let zone = try zone.get()
        var (times, time): ([UpcomingTime], Timestamp) = ([], time)
        while times.count < min(count, 1000), let next = definition.expression.next(after: time, in: zone) {
            let second = next.milliseconds.dividedRoundingDown(by: 1000)
            let segment = zone.segment(at: second)
            let missing = definition.expression.missingLocalTime(at: second, segment)
            times.append(
                UpcomingTime(
                    time: ScheduledTime(nominal: next, notBefore: notBefore(of: next, in: zone)),
                    offset: segment.offset, note: missing.map { "\($0) does not exist that day" }))
            time = next
        }
        return times
    }
}

extension CronExpression {
    /// The first local time of a gap for which the expression fires at the end of the gap: `02:30`, or `02:30:15`.
    fileprivate func missingLocalTime(at second: Int64, _ segment: TimeZoneSegment) -> String? {
        guard case .pattern(let pattern) = kind, second == segment.start, pattern.firesAtStart(of: segment),
            let local = pattern.first(from: second + segment.previousOffset, before: second + segment.offset)
        else { return nil }
        let time = local - local.dividedRoundingDown(by: 86_400) * 86_400
        func digits(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let text = "\(digits(time / 3600)):\(digits(time / 60 % 60))"
        return time % 60 == 0 ? text : "\(text):\(digits(time % 60))"
    }
}

/// A time at which a schedule fires.
package struct ScheduledTime: Hashable, Sendable {
    /// The time by the expression, a whole second.
    package var nominal: Timestamp
    /// The nominal time with its jitter: the `notBefore` of the command.
    package var notBefore: Timestamp

    package init(nominal: Timestamp, notBefore: Timestamp) {
        self.nominal = nominal
        self.notBefore = notBefore
    }
}

/// A coming time of a schedule, for people.
package struct UpcomingTime: Hashable, Sendable {
    package var time: ScheduledTime
    /// Seconds that the zone is east of Greenwich at the nominal time.
    package var offset: Int64
    /// A peculiarity of the local time, for example `02:30 does not exist that day`; nil without one.
    package var note: String?
}
