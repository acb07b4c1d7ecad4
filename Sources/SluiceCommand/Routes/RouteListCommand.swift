internal import ArgumentParser
internal import Commands
internal import Console
internal import Door

struct RouteListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the routes of the configuration.",
        discussion: """
            EXAMPLES
              sluice route list
              sluice route list --json | jq -r 'select(.becomes == "stored") | .name'
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    func run() throws {
        let routes = try ConfiguredRoutes.read(data).routes
        if print.json {
            for route in routes { Output.line(JSONValue.object(route.members).bytes) }
        } else if routes.isEmpty {
            Diagnostics.say("no routes; “sluice route --help” says how to make one in sluice.yaml")
        } else {
            var table = Table([
                ("NAME", .left), ("BECOMES", .left), ("QOS", .left), ("MAX SIZE", .right), ("KEPT", .right),
            ])
            for route in routes {
                table.add([
                    route.name, route.summary, route.qos?.name ?? "-", route.maxSize.map { Figures.bytes($0) } ?? "-",
                    route.becomesCommand ? route.retention.shortText : "-",
                ])
            }
            for line in table.lines { Output.line(line) }
        }
    }
}
