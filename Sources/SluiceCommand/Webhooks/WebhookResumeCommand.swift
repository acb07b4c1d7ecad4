internal import ArgumentParser
internal import Commands
internal import Operations
internal import Queue
internal import Settings
internal import Store

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

    /// A worker that has read the pause holds its message back within this time.
    private static let settlingTime: Duration = .seconds(1)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var endpoint: WebhookEndpointArgument

    func run() async throws {
        let (directory, store) = try data.store()
        let endpoint = try await WebhookEndpointList(data, directory, store).endpoint(endpoint.name)
        let (setting, action) = try store.change(endpoint) { $0.resumed() }
        // Also where it was not paused: a resume that was killed may have left messages waiting.
        var waited = try store.endWebhookWaits(setting.origin)
        if action != .none, try store.hasWebhookClaims(setting.origin) {
            try await Task.sleep(for: Self.settlingTime)
            waited += try store.endWebhookWaits(setting.origin)
        }
        if print.json {
            Output.line(setting.json(isChanged: action != .none, [.init("waited", .integer(Int64(waited)))]).bytes)
        } else {
            Output.line(
                "\(setting.name): \(action == .none ? "was not paused" : "goes on")"
                    + (waited > 0 ? "; \(waited) \(waited == 1 ? "message" : "messages") waited" : ""))
        }
        try data.warn(of: store)
    }
}
