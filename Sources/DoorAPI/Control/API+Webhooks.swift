internal import Commands
internal import Door
internal import HTTPTypes
internal import Queue
internal import Settings

extension API {
    /// The endpoints of webhooks that have answered, failed or been paused: only workers know those of sluice.yaml.
    var webhookEndpoints: [Endpoint] {
        [
            endpoint("/webhooks", (.get, [.read], listWebhooks)),
            endpoint("/webhooks/{name}/pause", (.post, [.control], pauseWebhook)),
            endpoint("/webhooks/{name}/resume", (.post, [.control], resumeWebhook)),
            endpoint("/webhooks/{name}/replay", (.post, [.control], replayWebhook)),
        ]
    }

    @Sendable private func listWebhooks(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let list = try await read { queue in
            try queue.webhookEndpoints().map { JSONValue.object($0.members) }
        }
        return JSONReply.response(["webhooks": .array(list)])
    }

    @Sendable private func pauseWebhook(_ request: DoorRequest) async throws -> Response {
        let endpoint = try await webhook(request)
        let (setting, isChanged) = try await write { queue in
            try queue.pauseWebhook(endpoint)
        }
        log("Paused the webhook endpoint \(setting.name)", request)
        return JSONReply.response(setting.json(isChanged: isChanged))
    }

    /// Messages that wait for the endpoint, and those that wait after a failure, are sent at once.
    @Sendable private func resumeWebhook(_ request: DoorRequest) async throws -> Response {
        let endpoint = try await webhook(request)
        let first = try await write { queue in try queue.resumeWebhook(endpoint) }
        log("Resumed the webhook endpoint \(endpoint.name)", request)
        guard first.mayHoldBack else { return JSONReply.response(first.json) }
        try await Task.sleep(for: ResumedWebhook.settlingTime)
        let resumed = try await write { queue in
            var resumed = first
            try queue.endWaits(of: &resumed)
            return resumed
        }
        return JSONReply.response(resumed.json)
    }

    /// Retries, as a bulk action, the messages that have failed and were submitted in a time.
    @Sendable private func replayWebhook(_ request: DoorRequest) async throws -> Response {
        let body = try await JSONBody.members(request, ["since", "until"])
        func time(_ name: String) throws -> Timestamp? {
            guard let value = body[name] else { return nil }
            guard let time = value.string.flatMap({ Timestamp(rfc3339: $0) }) else {
                throw JSONBody.problem("“\(name)” must be \(CommandFilterForm.time).")
            }
            return time
        }
        guard let since = try time("since") else { throw JSONBody.problem("“since” is missing.") }
        let endpoint = try await knownWebhook(request)
        let all = try await read { queue in try queue.webhookEndpoints() }
        guard !all.contains(where: { $0.name != endpoint.name && $0.origin == endpoint.origin }) else {
            throw JSONBody.problem(
                "Another endpoint has the origin \(endpoint.origin) too; use “sluice webhook replay \(endpoint.name)”.")
        }
        let filter = CommandFilter.undelivered(to: endpoint, from: since, before: try time("until"))
        return try await start(BulkAction(.retry, of: filter), request)
    }

    /// - Throws: 404 where no endpoint of that name is known; 400 for a body.
    private func webhook(_ request: DoorRequest) async throws -> WebhookEndpointSetting {
        _ = try await JSONBody.members(request, [])
        return try await knownWebhook(request)
    }

    private func knownWebhook(_ request: DoorRequest) async throws -> WebhookEndpointSetting {
        _ = try QueryReader(request, [])
        let name = request.parameters["name"] ?? ""
        let found = try await read { queue in
            try queue.webhookEndpoints().first { $0.name == name }
        }
        guard let found else {
            throw Problem(
                .notFound, "webhook-not-found",
                "No webhook endpoint “\(name.excerpt)” has got a message yet; see /webhooks.")
        }
        return found
    }
}
