package import Commands
package import Settings
package import Store

/// An endpoint that was resumed.
package struct ResumedWebhook: Sendable {
    package var endpoint: WebhookEndpointSetting
    /// Whether it was paused.
    package let isChanged: Bool
    /// Messages that waited and are due now.
    package fileprivate(set) var waited: Int
    /// A worker that has read the pause may hold a message back for ``settlingTime``; then
    /// ``QueueAccess/endWaits(of:)`` is called once more.
    package fileprivate(set) var mayHoldBack = false

    package static let settlingTime: Duration = .seconds(1)

    /// For `--json` and the API.
    package var json: JSONValue { endpoint.json(isChanged: isChanged, [.init("waited", .integer(Int64(waited)))]) }
}

/// Endpoints of webhooks. Only the messages to an endpoint wait while it is paused, uncharged.
extension QueueAccess {
    /// Commands of a shard that one transaction looks at.
    private static let webhookBatch = 1000

    /// Holds the messages to an endpoint back.
    /// - Returns: the endpoint afterwards, and whether it was not paused before.
    package func pauseWebhook(
        _ endpoint: WebhookEndpointSetting
    ) throws(StoreError) -> (endpoint: WebhookEndpointSetting, isChanged: Bool) {
        try change(endpoint) { $0.pausedByPerson(now: now) }
    }

    /// Lets the messages to an endpoint go on: those that wait for it, and those that wait after a failure, are due at
    /// once, also where it was not paused, because a resume that was killed may have left some.
    package func resumeWebhook(_ endpoint: WebhookEndpointSetting) throws(StoreError) -> ResumedWebhook {
        let (setting, isChanged) = try change(endpoint) { $0.resumed() }
        var resumed = ResumedWebhook(endpoint: setting, isChanged: isChanged, waited: 0)
        try endWaits(of: &resumed)
        if isChanged { resumed.mayHoldBack = try hasClaims(setting.origin) }
        return resumed
    }

    /// Makes the messages due that wait for an endpoint now, and adds their number.
    package func endWaits(of resumed: inout ResumedWebhook) throws(StoreError) {
        let origin = resumed.endpoint.origin
        resumed.waited += try store.mapShards(or: 0) { shard throws(StoreError) in
            var count = 0
            var position: HeldBackPosition?
            repeat {
                let batch = try store.endWaits(
                    shard: shard, type: CommandType.webhook, destination: origin, after: position,
                    limit: Self.webhookBatch)
                count += batch.count
                position = batch.next
            } while position != nil
            return count
        }.reduce(0, +)
    }

    /// The messages to an origin that wait after an attempt, or for their endpoint.
    package func waitingMessages(to origin: Destination) throws(StoreError) -> Int {
        try store.mapShards(or: 0) { shard throws(StoreError) in
            try store.countHeldBack(shard: shard, type: CommandType.webhook, destination: origin)
        }.reduce(0, +)
    }

    /// Changes the state of an endpoint in one transaction.
    private func change(
        _ endpoint: WebhookEndpointSetting, _ body: (inout WebhookEndpointState) -> WebhookEndpointState.Action
    ) throws(StoreError) -> (endpoint: WebhookEndpointSetting, isChanged: Bool) {
        var changed = endpoint
        var action = WebhookEndpointState.Action.none
        try store.update(WebhookEndpointSetting.key(endpoint.name)) { value in
            changed.state = WebhookEndpointSetting(name: endpoint.name, value: value)?.state ?? WebhookEndpointState()
            action = body(&changed.state)
            return action == .none ? value : changed.value
        }
        return (changed, action != .none)
    }

    /// Whether a worker sends a message to an origin.
    private func hasClaims(_ origin: Destination) throws(StoreError) -> Bool {
        try store.claimed().joined().contains { $0.type == CommandType.webhook && $0.destination == origin }
    }
}

extension CommandFilter {
    /// The messages to an endpoint's origin that it did not get, submitted in a time.
    /// - Parameters:
    ///   - from: included.
    ///   - before: excluded; nil: now.
    package static func undelivered(
        to endpoint: WebhookEndpointSetting, from: Timestamp, before: Timestamp?
    ) -> CommandFilter {
        var filter = CommandFilter(destination: endpoint.origin)
        (filter.type, filter.statuses) = (CommandType.webhook, [.error, .tooManyTimes])
        (filter.from, filter.before) = (from, before)
        return filter
    }
}

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
