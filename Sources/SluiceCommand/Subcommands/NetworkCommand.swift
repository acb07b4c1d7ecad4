internal import ArgumentParser
internal import Commands
internal import Console

struct NetworkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "network",
        abstract: "Show links and what holds them back; hold one offline or slow.",
        discussion: """
            Without a subcommand it shows each link, the worst first: its level, goodput of what it is known to carry, \
            transfers running (of middle and low quality + of high) of the limit, the goodput of the last minute, and why. \
            While a destination itself refuses commands, its circuit breaker is open: one probe a minute goes out, until \
            it accepts one. \
            “*” is this host's own uplink. Without a running coordinator it shows how the last one left them.

            EXAMPLES
              sluice network
              sluice network --json | jq -r 'select(.level != "good") | .destination'
              sluice network set https://media.example.com --level offline
            """,
        subcommands: [NetworkShowCommand.self, NetworkSetCommand.self], defaultSubcommand: NetworkShowCommand.self)
}

struct NetworkShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show links and what holds them back (the default).")

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    func run() throws {
        let (directory, store) = try data.store()
        let links = try LinkSource(Surroundings(directory: directory, store: store)).readings()
        if print.json {
            for link in links { Output.line(link.json.bytes) }
        } else if links.isEmpty {
            Output.line("no link is known: nothing was sent yet")
        } else {
            for line in LinkSource.lines(links) { Output.line(line) }
        }
        try data.warn(of: store)
    }
}
