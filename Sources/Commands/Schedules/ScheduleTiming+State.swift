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
