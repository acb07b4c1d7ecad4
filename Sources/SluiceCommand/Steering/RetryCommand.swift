internal import ArgumentParser
internal import Commands
internal import Store
internal import Wire

struct RetryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Run commands again, at once.",
        discussion: """
            For commands in status error (without waiting for the backoff), cancelled or tooManyTimes. Their retries and \
            crashes are counted from 0 again; the offset is kept, so that a transfer continues from there. Settle a \
            command in doubt with “sluice resolve”.

            EXAMPLES
              sluice retry 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f
              sluice list --status tooManyTimes --json | jq -r .id | xargs sluice retry
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The commands, each by its id or any part of it.", valueName: "id"))
    var ids: [CommandIDPart]

    func run() throws {
        try SteeringRun(data: data, print: print).change(ids) { command, store in
            do throws(StoreError) {
                if let effects = try store.retry(command.id, now: .now) {
                    return .done("will be run again", hint: .changed, effects: effects)
                }
            } catch {
                // Another command has taken its unique key since.
                guard error.code == .conflict else { throw error }
                return .refused(error.message)
            }
            if command.type == CommandType.batch {
                return .refused(
                    "is a batch, whose end stands; retry its members: “sluice list --batch \(command.id) --status tooManyTimes --json”"
                )
            }
            return command.status == .inDoubt
                ? .refused("is inDoubt: settle it with “sluice resolve \(command.id) --retry”")
                : .refused("is \(command.status) and cannot be retried")
        }
    }
}
