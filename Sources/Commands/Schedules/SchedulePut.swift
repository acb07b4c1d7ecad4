/// A schedule as a person writes it: a definition, and whether it shall be paused.
///
/// ```json
/// {"cron": "30 2 * * *", "zone": "Europe/Berlin", "missed": "one", "overlap": "skip", "jitter": "30s",
///  "grace": "1m", "paused": false, "command": {"type": "request", "payload": {…}, "qos": "low"}}
/// ```
/// `expression` is another name of `cron`. A flow stands in `flow` instead of `command`. Durations are texts, or
/// whole seconds. All keys but the expression and the body have defaults.
package struct SchedulePut: Hashable, Sendable {
    package var definition: ScheduleDefinition
    /// Nil where it is not given: an existing schedule stays as it is, and a new one is not paused.
    package var paused: Bool?

    package init(_ definition: ScheduleDefinition) { self.definition = definition }

    /// Reads the object, and the stored form of a definition.
    /// - Parameters:
    ///   - name: the name where the object has none, for example because it is the key of the object.
    ///   - defaultZone: the zone of a schedule that names none.
    /// - Throws: ``ScheduleError`` for an unknown key, a value of another kind, and as the definition does.
    package init(_ value: JSONValue, name: String? = nil, defaultZone: String = "UTC") throws(ScheduleError) {
        guard let members = value.members else {
            throw ScheduleError(schedule: name, "it is \(value.kind) and must be an object")
        }
        var reader = SchedulePutReader(name: value["name"]?.string ?? name)
        for member in members { try reader.read(member) }
        if let name, let own = reader.name, !own.hasSameBytes(as: name) {
            throw ScheduleError(
                schedule: name, key: "name", "it is “\(ScheduleError.short(own))” inside; remove one of the two")
        }
        guard let own = reader.name else {
            throw ScheduleError(schedule: nil, key: "name", "it is missing; give the schedule a name")
        }
        guard let expression = reader.expression else {
            throw ScheduleError(
                schedule: own, key: "cron", "it is missing; write for example “30 2 * * *” for 02:30 each day")
        }
        guard let body = reader.body else {
            throw ScheduleError(
                schedule: own, key: "command", "it is missing; write a “command” with its type, or a “flow”")
        }
        definition = try ScheduleDefinition(
            name: own, expression: expression, zone: reader.zone ?? defaultZone, missed: reader.missed,
            overlap: reader.overlap, jitter: reader.jitter, grace: reader.grace, body: body)
        paused = reader.paused
    }
}

/// Reads the members one by one.
private struct SchedulePutReader {
    var name: String?
    var expression: CronExpression?
    var zone: String?
    var missed = MissedPolicy.one
    var overlap = OverlapPolicy.skip
    var jitter = Duration.zero
    var grace = ScheduleDefinition.defaultGrace
    var paused: Bool?
    var body: ScheduleBody?

    static let keys = [
        "name", "cron", "expression", "zone", "missed", "overlap", "jitter", "grace", "paused", "command", "flow",
    ]

    init(name: String?) { self.name = name }

    mutating func read(_ member: JSONValue.Member) throws(ScheduleError) {
        switch member.name {
        case "name": name = try string(member, "the name of the schedule")
        case "cron", "expression":
            guard expression == nil else {
                throw error(member, "“cron” and “expression” mean the same; remove one of the two")
            }
            let text = try string(member, "an expression, for example “30 2 * * *”")
            do { expression = try CronExpression(parsing: text) } catch { throw self.error(member, error.description) }
        case "zone": zone = try string(member, "an IANA name, for example “Europe/Berlin”")
        case "missed":
            let text = try string(member, MissedPolicy.forms)
            guard let policy = MissedPolicy(text: text) else { throw unknown(member, text, MissedPolicy.forms) }
            missed = policy
        case "overlap":
            let text = try string(member, OverlapPolicy.forms)
            guard let policy = OverlapPolicy(text: text) else { throw unknown(member, text, OverlapPolicy.forms) }
            overlap = policy
        case "jitter": jitter = try duration(member)
        case "grace": grace = try duration(member)
        case "paused":
            guard let value = member.value.bool else {
                throw error(member, "it is \(member.value.kind) and must be true or false")
            }
            paused = value
        case "command": try set(.command(member.value), member)
        case "flow": try set(.flow(member.value), member)
        default:
            let near = NearestName.find(member.name, among: Self.keys)
            let advice = near.map { "is it “\($0)”?" } ?? "a schedule has \(Self.keys.joined(separator: ", "))"
            throw error(member, "the key is unknown; \(advice)")
        }
    }

    private mutating func set(_ new: ScheduleBody, _ member: JSONValue.Member) throws(ScheduleError) {
        guard body == nil else { throw error(member, "a schedule has a “command” or a “flow”, not both") }
        body = new
    }

    private func string(_ member: JSONValue.Member, _ expected: String) throws(ScheduleError) -> String {
        guard let text = member.value.string else {
            throw error(member, "it is \(member.value.kind) and must be a string: \(expected)")
        }
        return text
    }

    /// A text such as `10m`, or a number of seconds from 0.
    private func duration(_ member: JSONValue.Member) throws(ScheduleError) -> Duration {
        let forms = "a time such as 30s, 10m, 2h or 1h30m"
        if let seconds = member.value.integer, (0...1_000_000_000).contains(seconds) { return .seconds(seconds) }
        guard let text = member.value.string else {
            throw error(member, "it is \(member.value.text.prefix(80)) and must be \(forms)")
        }
        guard let duration = DurationText.duration(text) else { throw unknown(member, text, forms) }
        return duration
    }

    private func unknown(_ member: JSONValue.Member, _ text: String, _ forms: String) -> ScheduleError {
        error(member, "it is “\(ScheduleError.short(text))” and must be \(forms)")
    }

    private func error(_ member: JSONValue.Member, _ problem: String) -> ScheduleError {
        ScheduleError(schedule: name, key: member.name, problem)
    }
}
