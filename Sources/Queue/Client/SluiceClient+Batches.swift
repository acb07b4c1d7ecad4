public import Commands
internal import Store

extension SluiceClient {
    /// Makes a batch durable, which takes any number of commands of any type as members, in all shards.
    ///
    /// ```swift
    /// var draft = BatchDraft("import")
    /// draft.callbacks = [.init(on: .success, try client.callback("noop"))]
    /// let batch = try await client.open(draft)
    /// var options = SubmitOptions()
    /// options.batch = batch
    /// for page in pages { try await client.submit("noop", page, options: options) }
    /// try await client.seal(batch)
    /// let outcome = try await client.wait(for: batch)
    /// ```
    /// The id of a batch is that of a command of type `batch`: it can be waited for, cancelled and listed, and other
    /// commands may wait for it. It is `blocked` until it is sealed and its last member has ended, then `success`,
    /// `tooManyTimes` where a member has failed, or `cancelled`. A member that is retried after that changes it no more.
    /// - Parameter allowUnknownTypes: accept callbacks of types that no worker has ever been able to run. The default is
    ///   false.
    /// - Throws: ``SluiceError``: `invalid` for a callback with a key or parents of its own, and the errors of any write.
    ///   Every shard must be writable.
    public func open(_ batch: BatchDraft, allowUnknownTypes: Bool = false) async throws -> CommandID {
        try await write { queue in try queue.store.open(batch, allowUnknownTypes: allowUnknownTypes) }
    }

    /// Lets no more members into a batch, which ends when its last member has. A batch that is sealed stays as it is, so
    /// call this again where it throws.
    /// - Throws: ``SluiceError``: `notFound` where there is no such batch, and the errors of any write.
    public func seal(_ batch: CommandID) async throws {
        try await write { queue in try queue.store.seal(batch) }
    }

    /// A batch as it is now, with the numbers of its members.
    /// - Returns: nil where there is no such command, or where it is not a batch.
    public func batch(_ id: CommandID) async throws -> BatchState? {
        try await read(isUrgent: true) { queue in try queue.store.batch(id) }
    }
}
