internal import ArgumentParser

struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Make, list, rotate and revoke the access tokens of the door.",
        discussion: """
            A client of the door sends a token: “Authorization: Bearer slu_…”. A token has scopes: “upload” (send uploads to \
            its routes), “submit” (commands, flows and batches), “read” (commands, links, workers, uploads, events), “control” \
            (cancel, retry, pause and the like) and “metrics”. The store keeps only a digest of it.

            The door makes the token “local” for this machine, with all scopes, in keys/door.token of the data directory.

            EXAMPLES
              sluice token create studio --scope upload --route archive
              sluice token create grafana --scope metrics --expires 365d
              sluice token list
              sluice token rotate studio --overlap 1h
              sluice token revoke studio
            """,
        subcommands: [
            TokenCreateCommand.self, TokenListCommand.self, TokenRotateCommand.self, TokenRevokeCommand.self,
        ])
}
