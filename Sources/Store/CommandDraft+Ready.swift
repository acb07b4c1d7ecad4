package import Commands

extension CommandDraft {
    /// The command that a submit made of this draft, as the ready queue needs it; nil where the submit found
    /// an existing command, or where the command may not run yet.
    /// - Parameter now: the time of the submit.
    package func ready(_ submission: Submission, now: Timestamp) -> ReadyCommand? {
        guard !submission.isExisting, !submission.isBlocked, notBefore <= now else { return nil }
        var command = ReadyCommand(
            id: submission.id, type: type, qos: submission.qos ?? qos, destination: destination, turn: submission.turn,
            createdAt: now)
        command.remaining = ReadyCommand.remaining(of: total)
        command.limit = limit
        return command
    }
}

extension Result<Submission, StoreError> {
    /// With the quality of service that the command has, where the batch of the draft has raised it.
    func with(_ qos: QualityOfService, for draft: CommandDraft) -> Self {
        guard qos != draft.qos else { return self }
        return map { submission in
            var submission = submission
            submission.qos = qos
            return submission
        }
    }
}
