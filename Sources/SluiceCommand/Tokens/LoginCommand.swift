internal import ArgumentParser
internal import Commands
internal import Door

struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Print a link that opens the page of the door in a browser.",
        discussion: """
            The link works once, within 10 minutes, and gives the session all rights of this machine's token. The token \
            itself is in no URL.

            EXAMPLES
              sluice login
              sluice login --listen 127.0.0.1:7411
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The address of the door (default: door.listen of sluice.yaml, else \(DoorCommand.defaultAddress)).",
            valueName: "host:port"))
    var listen: ListenAddress?

    func run() async throws {
        let directory = data.directory()
        let configured = try await ConfigurationFile(data, directory).door.listen
        let url = try DoorLogin.link(directory, at: listen ?? configured ?? DoorCommand.defaultAddress)
        Output.line(print.json ? JSONValue.object([.init("url", .string(url))]).text : url)
    }
}
