package import Commands
package import Store
internal import Wire

/// The effect of a put on a schedule.
package enum ScheduleChange: String, Sendable {
    case created, changed, unchanged
}

/// Schedules: what submits commands at its times. The coordinator reads them by itself.
extension QueueAccess {
    /// All schedules, by name.
    package func schedules() throws(StoreError) -> [StoredSchedule] { try store.schedules() }

    /// Nil where there is none of that name.
    package func schedule(_ name: String) throws(StoreError) -> StoredSchedule? { try store.schedule(name) }

    /// Refuses a schedule whose commands would be refused: a type that no worker has ever been able to run, or a rate limit
    /// that does not exist.
    /// - Throws: `invalid` with the known names.
    package func refuseUnknown(
        _ action: ScheduleAction, of name: String, allowUnknownTypes: Bool
    ) throws {
        if !allowUnknownTypes {
            let known = try store.types()
            for type in Set(action.drafts.map(\.type)).sorted() where !known.contains(type) {
                throw SluiceError(
                    .invalid,
                    "schedule “\(name)”: no worker runs “\(type)”; known types are "
                        + known.sorted().joined(separator: ", "))
            }
        }
        let limits = try store.rateLimits()
        for limit in action.limits.sorted() where limits[limit] == nil {
            let problem = StoreError.unknownLimit(limit, known: Array(limits.keys)).message
            throw SluiceError(.invalid, "schedule “\(name)”: \(problem)")
        }
    }

    /// Lets a schedule fire no more, until it is resumed.
    /// - Returns: the schedule afterwards; nil where there is none of that name.
    package func pauseSchedule(_ name: String) throws(StoreError) -> StoredSchedule? {
        try changeState(of: name) { timing, state in timing.paused(state) }
    }

    /// Lets a paused schedule fire again. Times of the pause are not missed.
    /// - Returns: the schedule afterwards; nil where there is none of that name.
    package func resumeSchedule(_ name: String) throws(StoreError) -> StoredSchedule? {
        try changeState(of: name) { timing, state in timing.resumed(state, now: now) }
    }

    private func changeState(
        of name: String, _ change: (ScheduleTiming, ScheduleState) -> ScheduleState
    ) throws(StoreError) -> StoredSchedule? {
        try store.changeSchedule(name) { schedule throws(StoreError) in
            guard var schedule else { return nil }
            schedule.state = change(ScheduleTiming(schedule.definition, in: .system), schedule.state)
            return schedule
        }
        return try store.schedule(name)
    }

    /// Removes a schedule. The commands that it has submitted stay.
    /// - Parameter onlyConfigured: leaves one that a person has put meanwhile.
    /// - Returns: false where there was none.
    package func removeSchedule(_ name: String, onlyConfigured: Bool = false) throws(StoreError) -> Bool {
        var isRemoved = false
        try store.changeSchedule(name) { schedule throws(StoreError) in
            isRemoved = schedule.map { !onlyConfigured || $0.isConfigured } ?? false
            return isRemoved ? nil : schedule
        }
        return isRemoved
    }

    /// Stores a schedule. One with the same text stays as it is.
    /// - Parameters:
    ///   - action: that of `put`, checked by its operations.
    ///   - isConfigured: its text is that of `sluice.yaml`. It belongs to the writer that has changed its text last.
    package func putSchedule(
        _ put: SchedulePut, _ action: ScheduleAction, isConfigured: Bool
    ) throws(StoreError) -> ScheduleChange {
        let now = now
        let timing = ScheduleTiming(put.definition, in: .system)
        var change = ScheduleChange.unchanged
        try store.changeSchedule(put.definition.name) { old throws(StoreError) in
            guard let old else {
                change = .created
                var new = StoredSchedule(
                    definition: put.definition, action: action,
                    state: timing.firstState(now: now, paused: put.paused ?? false))
                new.isConfigured = isConfigured
                return new
            }
            var new = old
            new.definition = put.definition
            new.action = action
            if new != old { new.isConfigured = isConfigured }
            new.state = timing.state(old.state, replacing: old.definition, now: now)
            if let paused = put.paused, paused != old.state.paused {
                new.state = paused ? timing.paused(new.state) : timing.resumed(new.state, now: now)
            }
            change = new == old ? .unchanged : .changed
            return new
        }
        return change
    }

    /// Submits what a schedule submits now, whatever its times.
    /// - Returns: the ids of its commands, empty where there is no schedule of that name; or the sentence of the schedule
    ///   that cannot be submitted.
    package func triggerSchedule(_ name: String) throws(StoreError) -> (ids: [CommandID], problem: String?) {
        let round = try store.fireSchedule(named: name)
        let ids = round.changes.flatMap(\.ids)
        let (changed, requested) = round.effects.hints(without: nil)
        for (kind, ids) in [
            (Hint.Kind.cancelRequested, requested), (.changed, changed), (.ready, Array(ids.prefix(Hint.maxBulkCount))),
        ]
        where !ids.isEmpty { hint(kind, ids) }
        return (ids, round.problems.first)
    }
}
