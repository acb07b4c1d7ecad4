internal import ArgumentParser
internal import Commands
internal import Queue
internal import Settings

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
