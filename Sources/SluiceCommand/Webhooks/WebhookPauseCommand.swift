internal import ArgumentParser
internal import Commands
internal import Operations
internal import Store

struct WebhookPauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Hold the messages to an endpoint back.",
        discussion: """
            They wait, uncharged, until “sluice webhook resume”. Other commands to the same origin go on; “sluice pause \
            --destination” holds those back too.

            EXAMPLES
              sluice webhook pause billing
              sluice webhook pause https://billing.example.com
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(
        help: ArgumentHelp(
            "The name of the endpoint in sluice.yaml, or a URL of its origin.", valueName: "name|url"))
    var endpoint: String

    func run() async throws {
        let (directory, store) = try data.store()
        let endpoint = try await WebhookEndpointList(data, directory, store).endpoint(endpoint)
        let (setting, action) = try store.change(endpoint) { $0.pausedByPerson(now: .now) }
        if print.json {
            Output.line(setting.json(isChanged: action != .none).bytes)
        } else if action != .none {
            Output.line("\(setting.name): paused; “\(WebhookEndpointState.remedy(setting.name))” lets it go on")
        } else {
            Output.line("\(setting.name): was paused before, since \(setting.state.pause?.since ?? .zero)")
        }
    }
}

extension CommandStore {
    /// Changes the state of an endpoint in one transaction.
    func change(
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
}

extension WebhookEndpointSetting {
    /// For `pause` and `resume`.
    func json(isChanged: Bool, _ more: [JSONValue.Member] = []) -> JSONValue {
        .object(
            [
                .init("name", .string(name)), .init("origin", .string(origin.text)),
                .init("state", .string(stateName)), .init("changed", .bool(isChanged)),
            ] + more)
    }
}
