package import Commands

/// An endpoint as the setting `webhook.<name>` has it: its origin, and how its receiver has answered.
package struct WebhookEndpointSetting: Sendable, Equatable {
    package let name: String
    package var origin: Destination
    package var state: WebhookEndpointState

    package init(name: String, origin: Destination, state: WebhookEndpointState = WebhookEndpointState()) {
        self.name = name
        self.origin = origin
        self.state = state
    }

    /// - Returns: nil for a value of another form. Then the endpoint counts as active.
    package init?(name: String, value: String?) {
        guard let value, let json = try? JSONValue(parsing: Array(value.utf8)),
            let origin = json["origin"]?.string.flatMap({ Destination($0) }), let state = WebhookEndpointState(json)
        else { return nil }
        self.init(name: name, origin: origin, state: state)
    }

    /// The endpoints among settings, by name.
    package static func parse(_ settings: [String: String]) -> [WebhookEndpointSetting] {
        settings.compactMap { key, value in
            guard key.hasPrefix(SettingKey.webhookPrefix) else { return nil }
            return WebhookEndpointSetting(name: String(key.dropFirst(SettingKey.webhookPrefix.count)), value: value)
        }.sorted { $0.name < $1.name }
    }

    package static func key(_ name: String) -> String { "\(SettingKey.webhookPrefix)\(name)" }

    package var value: String {
        JSONValue.object([.init("origin", .string(origin.text))] + state.members).text
    }

    /// Whether a message that names an endpoint, or none, goes to this one.
    package func receives(endpoint: String?, to destination: Destination) -> Bool {
        endpoint.map { $0 == name } ?? (origin == destination)
    }
}
