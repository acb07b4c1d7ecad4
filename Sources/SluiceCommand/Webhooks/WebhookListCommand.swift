internal import ArgumentParser
internal import Commands
internal import Console
internal import Queue
internal import Settings

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
