internal import ArgumentParser

struct BatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "batch",
        abstract: "Submit and show batches: any number of commands that end as one.",
        discussion: """
            A batch is a command too: list, status, cancel, explain and --wait take its id, and other commands wait for it \
            with --after. It is blocked until it is sealed and its last member has ended: success, or gave up (tooManyTimes in JSON) where a \
            member has failed. Its members lie in all shards and run like any other command; those that must wait for each \
            other are a flow.

            EXAMPLES
              jq -c '{payload: {url: .}}' urls.json | sluice batch submit download - --name urls --wait
              sluice batch 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f
              batch=$(sluice batch open --name import)
              sluice submit noop --batch $batch
              sluice batch seal $batch
            """,
        subcommands: [
            BatchSubmitCommand.self, BatchOpenCommand.self, BatchSealCommand.self, BatchListCommand.self,
            BatchShowCommand.self,
        ],
        defaultSubcommand: BatchShowCommand.self)
}
