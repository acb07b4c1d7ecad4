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
