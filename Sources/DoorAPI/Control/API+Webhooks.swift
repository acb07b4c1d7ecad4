internal import Commands
internal import Door
internal import HTTPTypes
internal import Hummingbird
internal import Inspection
internal import Operations
internal import Store

extension API {
    /// The endpoints of webhooks that have answered, failed or been paused: only workers know those of sluice.yaml.
    var webhookEndpoints: [Endpoint] {
        [
            endpoint("/webhooks", (.get, [.read], listWebhooks)),
            endpoint("/webhooks/{name}/pause", (.post, [.control], pauseWebhook)),
            endpoint("/webhooks/{name}/resume", (.post, [.control], resumeWebhook)),
        ]
    }

    /// A worker that has read the pause holds its message back within this time.
    private static let settlingTime: Duration = .seconds(1)

    @Sendable private func listWebhooks(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let list = try await read { [instance] _ throws(StoreError) in
            try instance.webhookEndpoints().map { JSONValue.object($0.members) }
        }
        return JSONReply.response(["webhooks": .array(list)])
    }

    @Sendable private func pauseWebhook(_ request: DoorRequest) async throws -> Response {
        let endpoint = try await webhook(request)
        let (setting, action) = try await read { store throws(StoreError) in
            try store.change(endpoint) { $0.pausedByPerson(now: .now) }
        }
        log("Paused the webhook endpoint \(setting.name)", request)
        return JSONReply.response(setting.json(isChanged: action != .none))
    }

    /// Messages that wait for the endpoint, and those that wait after a failure, are sent at once.
    @Sendable private func resumeWebhook(_ request: DoorRequest) async throws -> Response {
        let endpoint = try await webhook(request)
        let (setting, action, first, isSending) = try await read { store throws(StoreError) in
            let (setting, action) = try store.change(endpoint) { $0.resumed() }
            return (
                setting, action, try store.endWebhookWaits(setting.origin),
                try store.hasWebhookClaims(setting.origin)
            )
        }
        log("Resumed the webhook endpoint \(setting.name)", request)
        var waited = first
        if action != .none, isSending {
            try await Task.sleep(for: Self.settlingTime)
            waited += try await read { store throws(StoreError) in try store.endWebhookWaits(setting.origin) }
        }
        return JSONReply.response(
            setting.json(isChanged: action != .none, [.init("waited", .integer(Int64(waited)))]))
    }

    /// - Throws: 404 where no endpoint of that name is known.
    private func webhook(_ request: DoorRequest) async throws -> WebhookEndpointSetting {
        _ = try QueryReader(request, [])
        _ = try await JSONBody.members(request, [])
        let name = request.parameters["name"] ?? ""
        let found = try await read { [instance] _ throws(StoreError) in
            try instance.webhookEndpoints().first { $0.name == name }
        }
        guard let found else {
            throw Problem(
                .notFound, "webhook-not-found",
                "No webhook endpoint “\(name.excerpt)” has got a message yet; see /webhooks.")
        }
        return found
    }
}
