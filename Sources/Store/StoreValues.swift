package import Commands

extension CommandDraft {
    /// What the ready queue needs to know of the command that came of this draft; nil where it was there before, or is
    /// not to run yet.
    /// - Parameter now: when it was submitted.
    package func ready(_ submission: Submission, now: Timestamp) -> ReadyCommand? {
        guard !submission.isExisting, notBefore <= now else { return nil }
        return ReadyCommand(
            id: submission.id, type: type, qos: qos, destination: destination, turn: submission.turn, createdAt: now,
            suspect: false, remaining: ReadyCommand.remaining(of: total))
    }
}
