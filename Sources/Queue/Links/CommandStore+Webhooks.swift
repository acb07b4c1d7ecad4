package import Commands
package import Settings
package import Store

extension CommandStore {
    /// Commands of a shard that one transaction looks at.
    private static var webhookBatch: Int { 1000 }

    /// Changes the state of an endpoint in one transaction.
    package func change(
        _ endpoint: WebhookEndpointSetting,
        _ body: (inout WebhookEndpointState) -> WebhookEndpointState.Action
    ) throws(StoreError) -> (WebhookEndpointSetting, WebhookEndpointState.Action) {
        var changed = endpoint
        var action = WebhookEndpointState.Action.none
        try update(WebhookEndpointSetting.key(endpoint.name)) { value in
            changed.state = WebhookEndpointSetting(name: endpoint.name, value: value)?.state ?? WebhookEndpointState()
            action = body(&changed.state)
            return action == .none ? value : changed.value
        }
        return (changed, action)
    }

    /// Makes the messages due that wait for an endpoint.
    /// - Returns: their number.
    package func endWebhookWaits(_ origin: Destination) throws(StoreError) -> Int {
        try mapShards(or: 0) { shard throws(StoreError) in
            var count = 0
            var position: HeldBackPosition?
            repeat {
                let batch = try endWaits(
                    shard: shard, type: CommandType.webhook, destination: origin, after: position,
                    limit: Self.webhookBatch)
                count += batch.count
                position = batch.next
            } while position != nil
            return count
        }.reduce(0, +)
    }

    /// Whether a worker sends a message to an endpoint.
    package func hasWebhookClaims(_ origin: Destination) throws(StoreError) -> Bool {
        try mapShards(or: []) { shard throws(StoreError) in try claimed(shard: shard) }
            .joined().contains { $0.type == CommandType.webhook && $0.destination == origin }
    }
}
