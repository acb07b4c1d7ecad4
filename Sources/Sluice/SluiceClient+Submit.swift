public import Commands
internal import Store

extension SluiceClient {
    /// Makes a command durable and tells the coordinator. When this returns, the command is on disk.
    /// - Returns: its id; that of the command that holds the unique key, where an equal one does. See
    ///   ``submitOrFind(_:allowUnknownType:)``.
    /// - Throws: ``SluiceError``; `conflict` where a command with another payload or destination holds the
    ///   unique key.
    @discardableResult
    public func submit(_ draft: CommandDraft, allowUnknownType: Bool = false) async throws -> CommandID {
        try await submitOrFind(draft, allowUnknownType: allowUnknownType).id
    }

    /// Checks a payload, makes its command durable and tells the coordinator.
    /// - Returns: as ``submit(_:allowUnknownType:)``.
    /// - Throws: ``SluiceError``; `invalid` where the payload does not fit its operation, `conflict` as
    ///   ``submit(_:allowUnknownType:)``.
    @discardableResult
    public func submit(
        _ type: String, payload: JSONValue, options: SubmitOptions = SubmitOptions()
    ) async throws -> CommandID {
        try await submitOrFind(type, payload: payload, options: options).id
    }

    /// As ``submit(_:allowUnknownType:)``, and tells whether the command is a new one or an existing one that
    /// holds the draft's unique key.
    public func submitOrFind(_ draft: CommandDraft, allowUnknownType: Bool = false) async throws -> Submission {
        let results = await lane.submit([draft], allowUnknownTypes: allowUnknownType)
        return try results[0].mapError(SluiceError.init).get()
    }

    /// As ``submit(_:payload:options:)``, and tells whether the command is a new one or an existing one that
    /// holds the unique key.
    public func submitOrFind(
        _ type: String, payload: JSONValue, options: SubmitOptions = SubmitOptions()
    ) async throws -> Submission {
        // A check may look at a file, which blocks.
        let draft = try await aside { [self] () throws(SluiceError) in
            try self.draft(type, payload: payload, options: options)
        }
        return try await submitOrFind(draft, allowUnknownType: options.allowUnknownType)
    }

    /// Makes many commands durable, some thousands in a transaction.
    /// - Returns: one result for each draft, in order: one that is refused does not keep the others from
    ///   being accepted, and where some thousands fail together, the others are still tried.
    public func submit(
        bulk drafts: [CommandDraft], allowUnknownTypes: Bool = false
    ) async -> [Result<CommandID, SluiceError>] {
        await submitOrFind(bulk: drafts, allowUnknownTypes: allowUnknownTypes).map { $0.map(\.id) }
    }

    /// As ``submit(bulk:allowUnknownTypes:)``, and tells of each draft whether its command is a new one or an
    /// existing one that holds the unique key. Equal drafts of one call are one command, which exists for the
    /// second draft.
    public func submitOrFind(
        bulk drafts: [CommandDraft], allowUnknownTypes: Bool = false
    ) async -> [Result<Submission, SluiceError>] {
        var results: [Result<Submission, SluiceError>] = []
        results.reserveCapacity(drafts.count)
        // One part after the other: between them it is the turn of whoever else waits.
        for start in stride(from: 0, to: drafts.count, by: SubmitBatcher.batch) {
            let end = min(start + SubmitBatcher.batch, drafts.count)
            let part = drafts.count <= SubmitBatcher.batch ? drafts : Array(drafts[start..<end])
            let outcomes = await lane.submit(part, allowUnknownTypes: allowUnknownTypes)
            for outcome in outcomes { results.append(outcome.mapError(SluiceError.init)) }
        }
        return results
    }

    /// Checks a payload against its operation and makes a draft, without submitting it. Blocks where the
    /// operation looks at a file, as `upload` does; a relative path is meant from the working directory.
    /// - Throws: ``SluiceError``: `invalid` for a key or value that its operation or the options do not allow,
    ///   `source`, `usage` or `tryAgain` for a file or URL that cannot be used.
    public func draft(
        _ type: String, payload: JSONValue, options: SubmitOptions = SubmitOptions()
    ) throws(SluiceError) -> CommandDraft {
        do throws(PayloadError) {
            return try CommandDraft(type: type, payload: payload, options: options, registry: registry)
        } catch {
            throw SluiceError(error)
        }
    }
}
