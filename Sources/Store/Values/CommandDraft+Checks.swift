package import Commands

extension CommandDraft {
    /// Why every store refuses this draft; nil where it is valid.
    var problem: StoreError? {
        guard CommandDraft.isType(type) else {
            return .notAType(type)
        }
        guard payload.count <= Command.payloadLimit else {
            return StoreError(
                .invalid, "The payload has \(payload.count) bytes; at most \(Command.payloadLimit) are allowed.")
        }
        guard (0...Command.maxRetryLimit).contains(retryLimit) else {
            return StoreError(
                .invalid, "The retry limit \(retryLimit) is not between 0 and \(Command.maxRetryLimit).")
        }
        guard total >= 0, notBefore.milliseconds >= 0 else {
            return StoreError(.invalid, "The size and the time of a command must not be negative.")
        }
        if let uniqueKey, uniqueKey.isEmpty || uniqueKey.utf8.count > UniqueKey.maxLength {
            return StoreError(
                .invalid, "A unique key has 1 to \(UniqueKey.maxLength) bytes; this one has \(uniqueKey.utf8.count).")
        }
        if let orderingKey, orderingKey.isEmpty || orderingKey.utf8.count > UniqueKey.maxLength {
            return StoreError(
                .invalid,
                "An ordering key has 1 to \(UniqueKey.maxLength) bytes; this one has \(orderingKey.utf8.count).")
        }
        if let keyLimit, !(1...1000).contains(keyLimit) || orderingKey == nil {
            return StoreError(
                .invalid,
                orderingKey == nil
                    ? "The limit of an ordering key needs the key."
                    : "The limit of a key is from 1 to 1,000, not \(keyLimit).")
        }
        if keyFailure == .hold, orderingKey == nil {
            return StoreError(.invalid, "The policy for failures of an ordering key needs the key.")
        }
        if let limit, !RateLimit.isName(limit) {
            return StoreError(.invalid, "“\(limit)” is not the name of a rate limit: \(RateLimit.nameForm).")
        }
        if case .duration(let duration) = uniqueFor, duration < .milliseconds(1) {
            return StoreError(.invalid, "A unique key is held for at least 1 ms, not for \(duration).")
        }
        return nil
    }

    /// Why a submit refuses its times: the command could never run. Nil where it could.
    func timeProblem(now: Timestamp) -> StoreError? {
        guard let deadline else { return nil }
        if deadline <= now {
            return StoreError(
                .invalid, "The deadline \(deadline) has passed: it is \(now). Give a later one, or none.")
        }
        if notBefore >= deadline {
            return StoreError(
                .invalid,
                "The command would never run: it must not start before \(notBefore), and its deadline is \(deadline).")
        }
        return nil
    }

    /// Why every store refuses its dependencies; nil where it does not.
    var dependencyProblem: StoreError? {
        guard dependencies.count <= CommandDraft.maxDependencies else {
            return StoreError(
                .invalid,
                "A command waits for at most \(CommandDraft.maxDependencies) others, not \(dependencies.count); put a noop between, or "
                    + "submit a flow.")
        }
        guard Set(dependencies.map(\.parent)).count == dependencies.count else {
            return StoreError(.invalid, "A command waits for each of its parents once.")
        }
        return nil
    }

    /// Equal for drafts that submit the same command (``UniqueKey/digest(of:)``); nil without a unique
    /// key.
    var digest: [UInt8]? { uniqueKey == nil ? nil : UniqueKey.digest(of: self) }

    var unique: UniqueKey? { uniqueKey.map { UniqueKey(type: type, orderingKey: orderingKey ?? "", key: $0) } }
}

extension StoreError {
    static func notAType(_ type: String) -> StoreError {
        StoreError(.invalid, "“\(type)” is not a command type: 1 to 64 of a-z, 0-9, “.” and “-”.")
    }

    /// Refuses a type that no worker has ever been able to run.
    static func unknownType(_ type: String, known: Set<String>) -> StoreError {
        StoreError(.invalid, "No worker runs “\(type)”; known types are \(known.sorted().joined(separator: ", ")).")
    }
}

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
