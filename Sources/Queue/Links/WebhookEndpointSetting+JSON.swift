package import Commands
package import Settings

extension WebhookEndpointSetting {
    /// `active`, `failing` or `paused`
    package var stateName: String { !state.isActive ? "paused" : state.failures > 0 ? "failing" : "active" }

    /// For `--json` and the API.
    package var members: [JSONValue.Member] {
        func time(_ value: Timestamp?) -> JSONValue { value.map { .string($0.description) } ?? .null }
        return [
            .init("name", .string(name)), .init("origin", .string(origin.text)), .init("state", .string(stateName)),
            .init("cause", state.pause.map { .string($0.cause.rawValue) } ?? .null),
            .init("pausedSince", time(state.pause?.since)), .init("failures", .integer(Int64(state.failures))),
            .init("failingSince", time(state.firstFailure)), .init("lastSuccess", time(state.lastSuccess)),
            .init("gone", .array(state.gone.map { .string($0.url) })),
        ]
    }

    /// For the output of `pause` and `resume`.
    package func json(isChanged: Bool, _ more: [JSONValue.Member] = []) -> JSONValue {
        .object(
            [
                .init("name", .string(name)), .init("origin", .string(origin.text)),
                .init("state", .string(stateName)), .init("changed", .bool(isChanged)),
            ] + more)
    }
}
