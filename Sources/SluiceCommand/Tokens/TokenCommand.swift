internal import ArgumentParser

struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Make, list, rotate and revoke the access tokens of the door.",
        discussion: """
            A client of the door sends a token: “Authorization: Bearer slu_…”. A token has scopes: “upload” (send uploads to \
            its routes), “submit” (commands, flows and batches), “read” (commands, links, workers, uploads, events), “control” \
            (cancel, retry, pause and the like), “metrics” and “grant” (make upload tokens over HTTP, each for a day at most). The \
            store keeps only a digest of it.

            The door makes the token “local” for this machine, with all scopes but “grant”, in keys/door.token of the data \
            directory.

            EXAMPLES
              sluice token create studio --scope upload --route archive
              sluice token create grafana --scope metrics --expires 365d
              sluice token create site --scope upload,grant --route archive    (POST /api/v1/tokens makes upload tokens)
              sluice token list
              sluice token rotate studio --overlap 1h
              sluice token revoke studio
            """,
        subcommands: [
            TokenCreateCommand.self, TokenListCommand.self, TokenRotateCommand.self, TokenRevokeCommand.self,
        ])
}
