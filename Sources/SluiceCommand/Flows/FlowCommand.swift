internal import ArgumentParser

struct FlowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "flow",
        abstract: "Submit and show flows: commands that wait for each other.",
        discussion: """
            A flow is a command too: list, status, cancel, retry, explain and --wait take its id. It is blocked until its \
            last node has ended. A node whose parent fails is cancelled, unless it waits for that failure or for any end; \
            nodes that do not depend on it run on. “sluice retry” of a failed node, or of the whole flow, lets it go on.

            EXAMPLES
              sluice flow submit quotes.yaml --wait
              sluice flow 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f
              sluice flow 1c2d4e5f --dot | dot -Tsvg > flow.svg
              sluice flow list
            """,
        subcommands: [FlowSubmitCommand.self, FlowListCommand.self, FlowShowCommand.self],
        defaultSubcommand: FlowShowCommand.self)
}
