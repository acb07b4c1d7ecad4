internal import Commands
internal import Host

extension ExecProgram {
    /// The user of the settings, looked up in the system's databases; nil: the worker's. Blocks.
    func lookUpUser() throws(CommandFailure) -> ProgramUser? {
        guard let user else { return nil }
        do throws(SystemError) {
            if let found = try ProgramUser.named(user) { return found }
        } catch {
            throw CommandFailure(.command, reason: "the user of the program “\(name)” is not known: \(error)")
        }
        throw CommandFailure(
            .final,
            reason: "the program “\(name)” cannot run as “\(user)”: there is no such user; create it, or correct "
                + "“user” in its settings")
    }
}
