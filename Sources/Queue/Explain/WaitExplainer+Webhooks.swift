internal import Commands
internal import Settings
internal import Store

extension WaitExplainer {
    /// The endpoint of a webhook is paused: its messages wait, uncharged.
    func pausedEndpoint(_ command: Command) throws(StoreError) -> WaitReason? {
        guard command.type == CommandType.webhook else { return nil }
        let paused = try queue.webhookEndpoints().filter { !$0.state.isActive || !$0.state.gone.isEmpty }
        guard !paused.isEmpty else { return nil }
        let payload = try store.payload(command.id).flatMap { try? JSONValue(parsing: $0) }
        let named = payload?["endpoint"]?.string
        guard let endpoint = paused.first(where: { $0.receives(endpoint: named, to: command.destination) }) else {
            return nil
        }
        let gone = endpoint.state.isActive ? endpoint.state.gone(payload?["url"]?.string ?? "") : nil
        let whole = endpoint.state.isActive ? nil : endpoint.state.reason(endpoint.name)
        guard let reason = whole ?? gone.map({ endpoint.state.reason(endpoint.name, $0) }) else { return nil }
        return WaitReason(
            "endpoint", reason, threshold: "an endpoint that is not paused",
            remedy: "Mend the receiver; “\(WebhookEndpointState.remedy(endpoint.name))” then lets all its messages go "
                + "on, uncharged",
            values: .object([
                .init("endpoint", .string(endpoint.name)),
                .init("cause", .string((endpoint.state.pause?.cause ?? .gone).rawValue)),
            ]))
    }
}
