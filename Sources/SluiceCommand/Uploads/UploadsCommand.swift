internal import ArgumentParser

struct UploadsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "uploads",
        abstract: "List and remove the uploads that the door has taken.",
        discussion: """
            An upload is open until its last byte is on disk. With a route it becomes a command or a flow of the same id, which \
            “sluice status ID” shows; without one its bytes stay in spool/uploads of the data directory until it is removed. \
            One that its client may ask for stays in the list for a day after its bytes were deleted.

            EXAMPLES
              sluice uploads list
              sluice uploads list --state complete --json | jq -r .id
              sluice uploads remove 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f
            """,
        subcommands: [UploadListCommand.self, UploadRemoveCommand.self], defaultSubcommand: UploadListCommand.self)
}
