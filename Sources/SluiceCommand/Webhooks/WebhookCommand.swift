internal import ArgumentParser

struct WebhookCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhook",
        abstract: "Send a signed webhook, or those that failed again; list, pause and resume endpoints.",
        discussion: """
            Without a subcommand it sends; “sluice webhook send --help” has the options.

            The message is signed as Standard Webhooks demands (webhook-id, webhook-timestamp, webhook-signature), anew \
            for each attempt. The secrets are those of the endpoint in sluice.yaml that has the origin of the URL: \
            see “webhooks” in deploy/sluice.example.yaml. For a receiver that verifies no signature use “sluice request”.

            With --type the message is {"type", "timestamp", "data"}, whose data is the JSON of --json-body or \
            --body-file. Without it the body is sent as it is. At most 256 KiB are sent; less than 20 kB are advised.

            A message that the receiver refuses or does not answer is sent again after 5 s, 5 min, 30 min, and 2, 5, 10, \
            14, 20 and 24 h. It may arrive twice, with one webhook-id. A redirect and 410 end it at once.

            A URL whose receiver answers 410, and an endpoint that accepts nothing for 3 days, is paused: its messages \
            wait, uncharged, until “sluice webhook resume”. Other URLs of the endpoint go on.

            EXAMPLES
              sluice webhook https://billing.example.com/hooks --type invoice.paid --json-body '{"id":"in_7"}'
              sluice webhook https://billing.example.com/hooks --type invoice.paid --body-file invoice.json --wait
              sluice webhook list
              sluice webhook resume billing
              sluice webhook replay billing --since 2h --dry-run
            """,
        subcommands: [
            WebhookSendCommand.self, WebhookListCommand.self, WebhookPauseCommand.self, WebhookResumeCommand.self,
            WebhookReplayCommand.self,
        ],
        defaultSubcommand: WebhookSendCommand.self)
}
