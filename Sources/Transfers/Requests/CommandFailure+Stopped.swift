package import Commands

extension CommandFailure {
    /// The failure of an execution that was stopped before it delivered anything. It is not ambiguous.
    package static func stopped(_ what: String) -> CommandFailure {
        CommandFailure(.link, reason: "\(what) was stopped before it began")
    }
}
