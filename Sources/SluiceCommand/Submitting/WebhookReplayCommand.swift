internal import ArgumentParser
internal import Commands
internal import Console
internal import Queue
internal import Settings

struct WebhookReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Send the messages again that an endpoint did not get since a time.",
        discussion: """
            They are the messages to the endpoint that were submitted since then and have failed: those that were given up, \
            and those that wait after an attempt. Their attempts are counted from 0 again, and a message keeps its \
            webhook-id, so that a receiver that has it already drops it. Messages that were delivered or cancelled stay as \
            they are. On a terminal it tells their number, and asks. It needs no running coordinator.

            TIME is RFC 3339, or how long ago it was.

            EXAMPLES
              sluice webhook replay billing --since 2h
              sluice webhook replay billing --since 2026-03-01T12:00:00Z --until 2026-03-01T14:30:00Z --dry-run
              sluice webhook replay https://billing.example.com --since 3d --yes --json
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var confirmation: Confirmation
    @OptionGroup var endpoint: WebhookEndpointArgument

    @Option(
        name: .long,
        help: ArgumentHelp("Only messages that were submitted at this time or later.", valueName: "time"))
    var since: PastTimeArgument

    @Option(
        name: .long,
        help: ArgumentHelp("Only messages that were submitted before this time. (default: now)", valueName: "time"))
    var until: PastTimeArgument?

    func validate() throws {
        if let until, until.time <= since.time { throw ValidationError("--until must be later than --since.") }
    }

    func run() async throws {
        let queue = try data.queue()
        let list = try await WebhookEndpointList(data, queue)
        let endpoint = try list.endpoint(endpoint.name)
        let filter = CommandFilter.undelivered(to: endpoint, from: since.time, before: until?.time ?? .now)
        let isNamed = list.sharesOrigin(endpoint)
        let selected = try queue.select(filter) { command in
            guard isNamed, let payload = try queue.payload(command.id) else { return true }
            return JSONValue(stored: payload)["endpoint"]?.string == endpoint.name
        }
        try SteeringRun(data: data, print: print).change(
            selected, confirmation, queue, verb: "Send again", RetryCommand.retry)
        if let reason = endpoint.state.reason(endpoint.name), !selected.ids.isEmpty {
            Diagnostics.say("\(reason), so its messages wait: \(WebhookEndpointState.remedy(endpoint.name))")
        }
    }
}
