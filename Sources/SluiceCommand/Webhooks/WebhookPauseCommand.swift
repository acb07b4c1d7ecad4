internal import ArgumentParser
internal import Commands
internal import Queue
internal import Settings

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
