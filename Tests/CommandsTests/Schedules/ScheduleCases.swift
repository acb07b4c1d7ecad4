import Commands
import Testing

/// Schedules for tests, in few words.
enum ScheduleCases {
    static let body = ScheduleBody.command(["type": "noop"])

    static func timing(
        _ text: String, zone: String = "UTC", missed: MissedPolicy = .one, overlap: OverlapPolicy = .skip,
        jitter: Duration = .zero, grace: Duration = .seconds(60), name: String = "nightly"
    ) throws -> ScheduleTiming {
        let definition = try ScheduleDefinition(
            name: name, expression: CronExpression(parsing: text), zone: zone, missed: missed, overlap: overlap,
            jitter: jitter, grace: grace, body: body)
        return ScheduleTiming(definition, in: .system)
    }

    static func time(_ text: String) throws -> Timestamp { try #require(Timestamp(rfc3339: text)) }
}

extension ScheduleDecision {
    /// The nominal times that fire, without their milliseconds.
    var texts: [String] { fires.map { String($0.nominal.description.prefix(19)) } }
}
