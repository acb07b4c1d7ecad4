internal import Commands
internal import Host
internal import Queue
internal import Settings
internal import Transfers
internal import Webhook

/// The endpoints of webhooks: those of sluice.yaml in their order, then those that only the store knows.
struct WebhookEndpointList {
    struct Entry {
        var setting: WebhookEndpointSetting
        /// sluice.yaml has it.
        var isConfigured: Bool
    }

    let entries: [Entry]

    init(_ options: DataOptions, _ queue: QueueAccess) async throws {
        let stored = try queue.webhookEndpoints()
        let configured = try await ConfigurationFile(options, queue.directory).webhooks.origins
        entries =
            configured.map { name, origin in
                var setting = stored.first { $0.name == name } ?? WebhookEndpointSetting(name: name, origin: origin)
                setting.origin = origin
                return Entry(setting: setting, isConfigured: true)
            }
            + stored.filter { setting in !configured.contains { $0.name == setting.name } }
            .map { Entry(setting: $0, isConfigured: false) }
    }

    /// Whether a message has to name the endpoint, because another one has its origin.
    func sharesOrigin(_ endpoint: WebhookEndpointSetting) -> Bool {
        entries.contains { $0.setting.name != endpoint.name && $0.setting.origin == endpoint.origin }
    }

    /// The endpoint that a person names by its name, or by a URL of its origin.
    /// - Throws: ``ExitError``: `input` where there is none, `usage` where the URL does not decide.
    func endpoint(_ text: String) throws -> WebhookEndpointSetting {
        if let entry = entries.first(where: { $0.setting.name == text }) { return entry.setting }
        guard text.contains("://"), let origin = Destination(url: text) else {
            throw ExitError(
                .input, "there is no webhook endpoint “\(text)”; “sluice webhook list” shows the endpoints")
        }
        let found = entries.filter { $0.setting.origin == origin }
        guard let first = found.first else {
            throw ExitError(
                .input, "no webhook endpoint has the origin \(origin); “sluice webhook list” shows the endpoints")
        }
        guard found.count == 1 else {
            let names = found.map { "“\($0.setting.name)”" }.joined(separator: " and ")
            throw ExitError(.usage, "the webhook endpoints \(names) have the origin \(origin); name one of them")
        }
        return first.setting
    }
}
