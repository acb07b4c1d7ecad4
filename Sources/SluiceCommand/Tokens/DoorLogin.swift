internal import Commands
internal import Door
internal import Host
internal import Queue

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
