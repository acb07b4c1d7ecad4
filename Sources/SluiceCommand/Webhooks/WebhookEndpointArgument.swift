internal import ArgumentParser

/// The endpoint that a command is about.
struct WebhookEndpointArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The name of the endpoint in sluice.yaml, or a URL of its origin.", valueName: "name|url"))
    var name: String
}
