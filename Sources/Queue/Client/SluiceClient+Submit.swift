public import Commands
internal import Host
package import Store
internal import Wire

extension SluiceClient {
    /// Makes a command durable, and sends the coordinator a hint. When this returns, the command is on disk.
    /// - Parameters:
    ///   - draft: the command, as ``draft(_:payload:options:)`` makes it. Its payload is not checked again.
    ///   - allowUnknownType: accept a type that no worker has ever been able to run. The default is false.
    /// - Returns: the id of the command; where an equal command holds its unique key, the id of that one. See
    ///   ``submitOrFind(_:allowUnknownType:)``.
    /// - Throws: ``SluiceError``: `invalid` for an unknown type, or for a value out of the ranges of
    ///   ``CommandDraft``; `conflict` where a command with another payload or destination holds the unique
    ///   key.
    @discardableResult
    public func submit(_ draft: CommandDraft, allowUnknownType: Bool = false) async throws -> CommandID {
        try await submitOrFind(draft, allowUnknownType: allowUnknownType).id
    }

    /// Checks a payload, makes its command durable, and sends the coordinator a hint.
    /// - Parameters:
    ///   - type: the type of the command: `upload`, `noop`, or a type of your own.
    ///   - payload: JSON for the operation, at most 1 MiB.
    ///   - options: quality of service, deadline, unique key and others. The default is their defaults.
    /// - Returns: as ``submit(_:allowUnknownType:)``.
    /// - Throws: ``SluiceError``, as ``draft(_:payload:options:)`` and ``submit(_:allowUnknownType:)``.
    @discardableResult
    public func submit(
        _ type: String, payload: JSONValue, options: SubmitOptions = SubmitOptions()
    ) async throws -> CommandID {
        try await submitOrFind(type, payload: payload, options: options).id
    }

    /// As ``submit(_:allowUnknownType:)``, and says whether the command is new, or existed already under the
    /// draft's unique key.
    /// - Throws: ``SluiceError``, as ``submit(_:allowUnknownType:)``.
    public func submitOrFind(_ draft: CommandDraft, allowUnknownType: Bool = false) async throws -> Submission {
        let results = await batcher.submit([draft], allowUnknownTypes: allowUnknownType)
        return try results[0].mapError(SluiceError.init).get()
    }

    /// As ``submit(_:payload:options:)``, and says whether the command is new, or existed already under the
    /// unique key.
    /// - Throws: ``SluiceError``, as ``submit(_:payload:options:)``.
    public func submitOrFind(
        _ type: String, payload: JSONValue, options: SubmitOptions = SubmitOptions()
    ) async throws -> Submission {
        // A check may read the attributes of a file, which blocks.
        let draft = try await BlockingPool.shared.run { [self] () throws(SluiceError) in
            try self.draft(type, payload: payload, options: options)
        }
        return try await submitOrFind(draft, allowUnknownType: options.allowUnknownType)
    }

    /// Makes many commands durable, 4,096 drafts at a time, each part with one transaction for each shard.
    ///
    /// A refused draft does not keep the others from being accepted. A transaction that fails does not keep
    /// the next ones from being tried.
    /// - Parameters:
    ///   - drafts: any number of drafts. Their payloads are not checked.
    ///   - allowUnknownTypes: accept types that no worker has ever been able to run. The default is false.
    /// - Returns: one result for each draft, in order. A failure is as ``submit(_:allowUnknownType:)``
    ///   throws.
    public func submit(
        bulk drafts: [CommandDraft], allowUnknownTypes: Bool = false
    ) async -> [Result<CommandID, SluiceError>] {
        await submitOrFind(bulk: drafts, allowUnknownTypes: allowUnknownTypes).map { $0.map(\.id) }
    }

    /// As ``submit(bulk:allowUnknownTypes:)``, and says whether each command is new, or existed already under
    /// its unique key. Equal drafts with one unique key make one command, which exists already for the second
    /// draft.
    public func submitOrFind(
        bulk drafts: [CommandDraft], allowUnknownTypes: Bool = false
    ) async -> [Result<Submission, SluiceError>] {
        var results: [Result<Submission, SluiceError>] = []
        results.reserveCapacity(drafts.count)
        // One part after the other, so that submissions of other tasks are committed in between.
        for start in stride(from: 0, to: drafts.count, by: SubmitBatcher.batch) {
            let end = min(start + SubmitBatcher.batch, drafts.count)
            let part = drafts.count <= SubmitBatcher.batch ? drafts : Array(drafts[start..<end])
            let outcomes = await batcher.submit(part, allowUnknownTypes: allowUnknownTypes)
            for outcome in outcomes { results.append(outcome.mapError(SluiceError.init)) }
        }
        return results
    }

    /// Checks a payload against its operation and makes a draft, without submitting it.
    ///
    /// It blocks where the operation reads the attributes of a file, as `upload` does, and where the rule of the type is
    /// read from the store. The payload of a type without a known operation is checked by that rule; without a rule it is
    /// not checked.
    /// - Parameters:
    ///   - type: the type of the command: `upload`, `noop`, or a type of your own.
    ///   - payload: JSON for the operation, at most 1 MiB. A relative path in an `upload` starts at the
    ///     working directory.
    ///   - options: quality of service, deadline, unique key and others. The default is their defaults.
    /// - Throws: ``SluiceError``: `invalid` for a key or value that its operation or the options do not
    ///   allow; `source` or `tryAgain` for a file that cannot be used; `usage` for a malformed URL or an
    ///   unknown scheme.
    public func draft(
        _ type: String, payload: JSONValue, options: SubmitOptions = SubmitOptions()
    ) throws(SluiceError) -> CommandDraft {
        do throws(PayloadError) {
            return try CommandDraft(
                type: type, payload: payload, options: options, registry: access.rules(for: type, in: registry))
        } catch {
            throw SluiceError(error)
        }
    }
}

extension QueueAccess {
    /// Submits commands with one transaction for each shard, and tells the coordinator. A refused draft does not keep the
    /// others from being accepted.
    /// - Parameter allowUnknownTypes: accept types that no worker has ever been able to run.
    /// - Returns: one result for each draft, in order.
    package func submit(_ drafts: [CommandDraft], allowUnknownTypes: Bool) -> [Result<Submission, SluiceError>] {
        let results = store.submit(drafts, allowUnknownTypes: allowUnknownTypes)
        let accepted = results.compactMap { try? $0.get() }
        for (kind, ids) in [(Hint.Kind.ready, accepted.map(\.id)), (.changed, accepted.flatMap(\.changed))]
        where !ids.isEmpty {
            hint(kind, Array(ids.prefix(Hint.maxBulkCount)))
        }
        return results.map { $0.mapError(SluiceError.init) }
    }

    /// Tells producers how to read the payloads of types. Equal rules are not written.
    package func setRules(_ rules: [String: PayloadRule]) throws(StoreError) {
        let stored = try store.settings(prefix: SettingKey.type(""))
        let changed = rules.map { (key: SettingKey.type($0), value: $1.setting) }.filter { stored[$0.key] != $0.value }
        if !changed.isEmpty { try store.set(changed, timeout: WriteTimeout.foreground) }
    }

    /// The operations that check payloads, with the rule that a worker has stored for a type of which none of them knows.
    /// A rule that cannot be read is left out: the command is then not idempotent, and the submit reports the shard.
    package func rules(for type: String, in registry: OperationRegistry) -> OperationRegistry {
        guard registry[type] == nil, let setting = try? store.setting(SettingKey.type(type)) else { return registry }
        return registry.adding(PayloadRule(setting: setting), for: type)
    }
}
