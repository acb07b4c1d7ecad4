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
