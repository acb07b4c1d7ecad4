internal import ArgumentParser
internal import Commands
internal import Door
internal import Host
internal import Queue

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

/// Makes login links of the door that runs on a data directory. No token leaves this process.
enum DoorLogin {
    /// - Returns: the link, which opens one session within 10 minutes. Nil while no door listens.
    /// - Throws: ``ExitError`` where the token of the machine cannot be used.
    static func link(_ queue: QueueAccess) throws -> String? {
        guard let url = try queue.doorURL() else { return nil }
        let directory = queue.directory
        guard let text = TextFile.read(directory.doorToken)?.prefix(while: { $0 != "\n" }),
            let token = try? AccessToken(parsing: text)
        else {
            throw ExitError(
                .input, "\(directory.doorToken) has no token; the door makes one when it starts: start it again")
        }
        return LoginLink.url(url, code: try StoredLoginCodes(queue).make(for: token.id, now: queue.now))
    }
}
