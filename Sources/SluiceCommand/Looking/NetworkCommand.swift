internal import ArgumentParser
internal import Commands
internal import Console

struct NetworkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "network",
        abstract: "Show links and what holds them back; hold one offline or slow.",
        discussion: """
            Without a subcommand it shows the twenty links that matter most and the sum of the others; --all shows every \
            link. First come open circuit breakers, then offline, poor and degraded links, then those that carry most; the \
            uplink is always there. Of a link it shows its level, goodput of what it is known to carry, transfers running \
            (of middle and low quality + of high) of the limit, the goodput of the last minute, and why. --json prints \
            every link.
            While a destination itself refuses commands, its circuit breaker is open: one probe a minute goes out, until \
            it accepts one. \
            “*” is this host's own uplink. Without a running coordinator it shows how the last one left them.

            EXAMPLES
              sluice network
              sluice network --all | grep media.example.com
              sluice network --json | jq -r 'select(.level != "good") | .destination'
              sluice network set https://media.example.com --level offline
            """,
        subcommands: [NetworkShowCommand.self, NetworkSetCommand.self], defaultSubcommand: NetworkShowCommand.self)
}
