/// A schedule as it was put: when it fires, and what it submits. Two equal definitions have the same times and
/// the same body, so that a repeated put changes nothing.
package struct ScheduleDefinition: Hashable, Sendable {
    /// 1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-”.
    package let name: String
    package var expression: CronExpression
    /// An IANA name, for example `Europe/Berlin`. The database of zones checks it, not the definition.
    package var zone: String
    package var missed: MissedPolicy
    package var overlap: OverlapPolicy
    /// The longest delay after a nominal time: from 0 to ``maxDelay``, in whole milliseconds.
    package var jitter: Duration
    /// The lateness from which a time is missed: from ``minGrace`` to ``maxDelay``, in whole milliseconds.
    package var grace: Duration
    package var body: ScheduleBody

    package static let defaultGrace = Duration.seconds(60)
    /// The timer that fires a schedule may be late by some of this on a busy machine.
    package static let minGrace = Duration.seconds(1)
    package static let maxDelay = Duration.seconds(365 * 86_400)

    /// - Throws: ``ScheduleError`` for a malformed name, an empty zone, a jitter or a grace out of its range, a
    ///   limit of `missed` out of 1…1000, and a body that is not an object.
    package init(
        name: String, expression: CronExpression, zone: String = "UTC", missed: MissedPolicy = .one,
        overlap: OverlapPolicy = .skip, jitter: Duration = .zero, grace: Duration = defaultGrace, body: ScheduleBody
    ) throws(ScheduleError) {
        guard Self.isName(name) else {
            throw ScheduleError(
                schedule: name, key: "name", "use 1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-” for the name")
        }
        func require(_ condition: Bool, _ key: String, _ problem: String) throws(ScheduleError) {
            if !condition { throw ScheduleError(schedule: name, key: key, problem) }
        }
        try require(!zone.isEmpty, "zone", "it is empty; write an IANA name, for example “Europe/Berlin”")
        if case .all(let count) = missed {
            try require(
                (1...MissedPolicy.maxCount).contains(count), "missed",
                "“all:\(count)” is out of range; use \(MissedPolicy.forms)")
        }
        try require(
            jitter >= .zero && jitter <= Self.maxDelay, "jitter",
            "it must be from 0s to \(DurationText.text(Self.maxDelay))")
        try require(
            grace >= Self.minGrace && grace <= Self.maxDelay, "grace",
            "it must be from \(DurationText.text(Self.minGrace)) to \(DurationText.text(Self.maxDelay))")
        if let problem = body.problem { throw ScheduleError(schedule: name, key: body.key, problem) }
        self.name = name
        self.expression = expression
        self.zone = zone
        self.missed = missed
        self.overlap = overlap
        self.jitter = .milliseconds(jitter.milliseconds)
        self.grace = .milliseconds(grace.milliseconds)
        self.body = body
    }

    /// A consequence of the two policies that people may not expect, in a sentence; nil where there is none. While one
    /// command of several missed times has not ended, the others overlap.
    package var remark: String? {
        guard case .all(let count) = missed, count > 1, overlap != .allow else { return nil }
        let runs =
            switch overlap {
            case .skip, .allow: "only the oldest of the missed times runs"
            case .queue: "only the two oldest of the missed times run"
            case .cancel: "only the newest of the missed times runs"
            }
        return
            "schedule “\(name)”: with “missed” \(missed) and “overlap” \(overlap) \(runs); “overlap” allow runs them all"
    }

    /// Whether a text can be the name of a schedule.
    package static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// Whether both fire at the same times: they have one expression and one zone.
    package func hasSameTimes(as other: ScheduleDefinition) -> Bool {
        expression == other.expression && zone == other.zone
    }

    /// The key of the lane in which the commands of the schedule follow each other; nil where they do not.
    package var laneKey: String? { overlap.usesLane ? "schedule:\(name)" : nil }

    /// The unique key of the command of a nominal time: `schedule:NAME@2026-03-29T01:00:00Z`. It is the second
    /// fence against two commands of one time, after the compare-and-swap on ``ScheduleState/next``.
    package func uniqueKey(of nominal: Timestamp) -> String {
        let text = nominal.description
        // The text exists for the years 0 to 9999. Other times would share the one at the end.
        guard Timestamp(rfc3339: text) == nominal else { return "schedule:\(name)@\(nominal.milliseconds)ms" }
        return "schedule:\(name)@\(text.hasSuffix(".000Z") ? "\(text.dropLast(5))Z" : text)"
    }
}

/// The JSON of the command or the flow that a schedule submits. The submit interprets it, not the schedule.
package enum ScheduleBody: Hashable, Sendable {
    /// `{type, payload, qos, …}`
    case command(JSONValue)
    /// A whole flow, as `sluice flow submit` takes it.
    case flow(JSONValue)

    /// The key of the body in a definition.
    package var key: String {
        switch self {
        case .command: "command"
        case .flow: "flow"
        }
    }

    package var value: JSONValue {
        switch self {
        case .command(let value), .flow(let value): value
        }
    }

    /// The fields that the schedule sets at each time.
    private static let ownFields: Set<String> = ["uniqueKey", "uniqueFor", "notBefore"]

    /// Why the value cannot be the body, as words that follow its key; nil where it can.
    var problem: String? {
        guard let members = value.members else { return "it is \(value.kind) and must be an object" }
        if let member = members.first(where: { Self.ownFields.contains($0.name) }) {
            return "remove “\(member.name)”: the schedule sets it at each of its times"
        }
        guard case .command = self else { return nil }
        guard let type = value["type"] else { return "“type” is missing; write for example {\"type\": \"noop\"}" }
        guard let name = type.string, CommandDraft.isType(name) else {
            return "“type” must be a string of 1 to 64 of a-z, 0-9, “.” and “-”"
        }
        return nil
    }
}

/// Why a text or a JSON value does not define a schedule.
package struct ScheduleError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The name of the schedule; nil where it is not known.
    package var schedule: String?
    /// The key with the problem; nil where the problem is that of the whole.
    package var key: String?
    /// A sentence without a full stop at its end.
    package var problem: String

    package init(schedule: String?, key: String? = nil, _ problem: String) {
        self.schedule = schedule
        self.key = key
        self.problem = problem
    }

    /// `schedule “nightly”, key “zone”: …`
    package var description: String {
        let subject = schedule.map { "schedule “\(Self.short($0))”" } ?? "a schedule"
        return key.map { "\(subject), key “\(Self.short($0))”: \(problem)" } ?? "\(subject): \(problem)"
    }

    /// At most 80 bytes of a text from outside.
    static func short(_ text: String) -> String { String(decoding: text.utf8.prefix(80), as: UTF8.self) }
}

extension ScheduleDefinition {
    /// The stored form: all keys in a fixed order, also those with their default.
    ///
    /// `{"name":…,"cron":…,"zone":…,"missed":"one","overlap":"skip","jitter":"0s","grace":"1m","command":{…}}`
    package var json: JSONValue {
        .object([
            .init("name", .string(name)), .init("cron", .string(expression.text)), .init("zone", .string(zone)),
            .init("missed", .string(missed.description)), .init("overlap", .string(overlap.description)),
            .init("jitter", .string(DurationText.text(jitter))), .init("grace", .string(DurationText.text(grace))),
            .init(body.key, body.value),
        ])
    }
}
