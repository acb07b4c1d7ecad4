package import Commands

/// Schedules in the output.
package enum ScheduleText {
    package static func members(of schedule: StoredSchedule) -> [JSONValue.Member] {
        let state = schedule.state
        func time(_ time: Timestamp?) -> JSONValue { time.map { .string($0.description) } ?? .null }
        return (schedule.definition.json.members ?? []) + [
            .init("next", time(state.next)), .init("last", time(state.last)),
            .init("lastId", state.lastID.map { .string($0.description) } ?? .null),
            .init("fired", .integer(state.fired)), .init("skipped", .integer(state.skipped)),
            .init("paused", .bool(state.paused)), .init("configured", .bool(schedule.isConfigured)),
            .init("reason", state.reason.map { .string($0) } ?? .null),
        ]
    }

    /// When the schedule fires next, in a sentence without a full stop.
    package static func next(of schedule: StoredSchedule, now: Timestamp) -> String {
        let state = schedule.state
        if state.paused { return "paused" }
        if let reason = hold(of: schedule, now: now) { return "held: \(reason)" }
        guard let next = state.next else { return "no time follows" }
        let wait = next > now ? " (in \((next - now).shortText))" : " (due)"
        return "next at \(local(next, schedule.definition.zone))\(wait)"
    }

    /// Why the schedule does not fire although it is not paused; nil where it does.
    package static func hold(of schedule: StoredSchedule, now: Timestamp) -> String? {
        let (definition, state) = (schedule.definition, schedule.state)
        if state.paused { return nil }
        if let reason = state.reason { return reason }
        guard ScheduleTiming(definition, in: .system).waitsForClock(state, now: now) else { return nil }
        return
            "the clock was set back, and its times until \(local(state.since, definition.zone)) have been; it fires behind "
            + "that, so that none runs twice. “sluice schedule trigger \(schedule.name)” runs it now"
    }

    /// A time in the zone of a schedule, as RFC 3339 writes it; in UTC where the zone is missing.
    package static func local(_ time: Timestamp, _ zone: String) -> String {
        guard let offsets = try? TimeZoneDatabase.system.zone(named: zone) else { return time.description }
        return local(time, offset: offsets.offset(at: time.milliseconds / 1000))
    }

    package static func local(_ time: Timestamp, offset: Int64) -> String {
        let shifted = Timestamp(milliseconds: time.milliseconds + offset * 1000).description
        let text = shifted.hasSuffix(".000Z") ? String(shifted.dropLast(5)) : String(shifted.dropLast())
        guard offset != 0 else { return "\(text)Z" }
        let minutes = abs(offset) / 60
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(text)\(offset < 0 ? "-" : "+")\(two(minutes / 60)):\(two(minutes % 60))"
    }

    /// The command or flow, in a few words.
    package static func action(of schedule: StoredSchedule) -> String {
        switch schedule.action {
        case .command(let scheduled): scheduled.draft.type
        case .flow(let flow): "flow \(flow.name) (\(flow.nodes.count) nodes)"
        }
    }
}

extension UpcomingTime {
    package var json: JSONValue {
        .object([
            .init("at", .string(time.nominal.description)), .init("notBefore", .string(time.notBefore.description)),
            .init("local", .string(ScheduleText.local(time.nominal, offset: offset))),
            .init("note", note.map { .string($0) } ?? .null),
        ])
    }
}
