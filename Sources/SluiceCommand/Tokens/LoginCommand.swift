internal import ArgumentParser
internal import Commands

struct LoginCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Print a link that opens the pages of the door in a browser.",
        discussion: """
            The link works once, within 10 minutes, and gives the session all rights of this machine's token. The token \
            itself is in no URL.

            EXAMPLES
              sluice login
              xdg-open "$(sluice login)"
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    func run() throws {
        let queue = try data.queue()
        guard let url = try DoorLogin.link(queue) else {
            throw ExitError(
                .tryAgain,
                "no door runs on \(data.place); start one with “sluice up --listen 127.0.0.1:7411” or “sluice door”")
        }
        Output.line(print.json ? JSONValue.object([.init("url", .string(url))]).text : url)
        try data.warn(of: queue)
    }
}
