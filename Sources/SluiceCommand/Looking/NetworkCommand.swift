internal import ArgumentParser
internal import Commands
internal import Console

struct NetworkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "network",
        abstract: "Show links and what holds them back; hold one offline or slow.",
        discussion: """
            Without a subcommand it shows the twenty links that matter most and the sum of the others; --all shows every \
            link. Open circuit breakers come first, then offline, poor and degraded links, then those with most traffic; \
            the uplink “*” of this host is always shown. The columns are the level, the goodput of the capacity, the \
            running transfers (middle and low + high quality of service) of the limit, the goodput of the last minute, \
            and the reason. --json prints every link.
            While a destination itself refuses commands, its circuit breaker is open: one probe a minute goes out, until \
            it accepts one. \
            Without a running coordinator it shows the links as the last one left them.

            EXAMPLES
              sluice network
              sluice network --all | grep media.example.com
              sluice network --json | jq -r 'select(.level != "good") | .destination'
              sluice network set https://media.example.com --level offline
              sluice network set https://api.example.com --starts 100/min
            """,
        subcommands: [NetworkShowCommand.self, NetworkSetCommand.self], defaultSubcommand: NetworkShowCommand.self)
}
