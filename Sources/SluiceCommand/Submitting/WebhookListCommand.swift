internal import ArgumentParser
internal import Commands
internal import Console
internal import Host
internal import Queue
internal import Settings
internal import Transfers
internal import Webhook

struct WebhookListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the endpoints: state, failing since, last success, and waiting messages.",
        discussion: """
            The endpoints are those of sluice.yaml, and those that a worker or a person has paused. WAITING counts the \
            messages to the origin that wait after an attempt or for the endpoint.

            EXAMPLES
              sluice webhook list
              sluice webhook list --json | jq -r 'select(.state == "paused") | .name'
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    func run() async throws {
        SignalHandling.exits()
        let queue = try data.queue()
        let entries = try await WebhookEndpointList(data, queue).entries
        var table = Table([
            ("NAME", .left), ("ORIGIN", .left), ("STATE", .left), ("FAILING SINCE", .left), ("LAST SUCCESS", .left),
            ("WAITING", .right),
        ])
        for entry in entries {
            let setting = entry.setting
            let waiting = try queue.waitingMessages(to: setting.origin)
            if print.json {
                let more: [JSONValue.Member] = [
                    .init("waiting", .integer(Int64(waiting))), .init("configured", .bool(entry.isConfigured)),
                ]
                Output.line(JSONValue.object(setting.members + more).bytes)
            } else {
                table.add([
                    setting.name, setting.origin.text, setting.stateName,
                    setting.state.firstFailure.map { "\($0)" } ?? "-",
                    setting.state.lastSuccess.map { "\($0)" } ?? "-", Figures.grouped(Int64(waiting)),
                ])
            }
        }
        if !print.json { show(entries, table) }
        try data.warn(of: queue)
    }

    private func show(_ entries: [WebhookEndpointList.Entry], _ table: Table) {
        guard !table.isEmpty else {
            return Diagnostics.say("there are no webhook endpoints; “webhooks” in sluice.yaml names them")
        }
        for line in table.lines { Output.line(line) }
        for entry in entries {
            if let reason = entry.setting.state.reason(entry.setting.name) {
                let remedy = WebhookEndpointState.remedy(entry.setting.name)
                Diagnostics.say("\(reason); mend the receiver and run: \(remedy)")
            }
            if !entry.isConfigured { Diagnostics.say("“\(entry.setting.name)” is not in sluice.yaml") }
        }
    }
}

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
    @OptionGroup var endpoint: WebhookEndpointArgument

    func run() async throws {
        let queue = try data.queue()
        let endpoint = try await WebhookEndpointList(data, queue).endpoint(endpoint.name)
        let (setting, isChanged) = try queue.pauseWebhook(endpoint)
        if print.json {
            Output.line(setting.json(isChanged: isChanged).bytes)
        } else if isChanged {
            Output.line("\(setting.name): paused; “\(WebhookEndpointState.remedy(setting.name))” lets it go on")
        } else {
            Output.line("\(setting.name): was paused before, since \(setting.state.pause?.since ?? .zero)")
        }
    }
}

struct WebhookResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Let the messages to a paused endpoint go on.",
        discussion: """
            Messages that wait for the endpoint, and those that wait after a failure, are sent at once. Prints their \
            number. Messages that were given up before need “sluice webhook replay”. It needs no running coordinator.

            EXAMPLES
              sluice webhook resume billing
              sluice webhook resume https://billing.example.com
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var endpoint: WebhookEndpointArgument

    func run() async throws {
        let queue = try data.queue()
        let endpoint = try await WebhookEndpointList(data, queue).endpoint(endpoint.name)
        var resumed = try queue.resumeWebhook(endpoint)
        if resumed.mayHoldBack {
            try await Task.sleep(for: ResumedWebhook.settlingTime)
            try queue.endWaits(of: &resumed)
        }
        if print.json {
            Output.line(resumed.json.bytes)
        } else {
            let waited = resumed.waited
            Output.line(
                "\(resumed.endpoint.name): \(resumed.isChanged ? "goes on" : "was not paused")"
                    + (waited > 0 ? "; \(waited) \(waited == 1 ? "message" : "messages") waited" : ""))
        }
        try data.warn(of: queue)
    }
}

/// The endpoint that a command is about.
struct WebhookEndpointArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The name of the endpoint in sluice.yaml, or a URL of its origin.", valueName: "name|url"))
    var name: String
}

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
        let configured = try ConfigurationFile(options, queue.directory).webhooks.origins
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
