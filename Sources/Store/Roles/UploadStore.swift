package import Commands

/// The calls of the door. An upload lies in the shard of its id, as the command does that it becomes.
package protocol UploadStore: ShardedStore {
    /// Changes uploads in one commit of a group, in order, durable when this returns.
    ///
    /// An upload lies in the shard of its id, one of `group`. A completion and the command that it submits are one
    /// change: where the command is refused, the upload stays open.
    /// - Parameter isRepetition: see ``CommitAttempt/isRepetition``.
    /// - Returns: one result for each write, in order. A failed one does not affect the others.
    /// - Throws: `unknown`: the writes are all durable, or none is. After any other error nothing is written in any shard.
    func apply(_ writes: [UploadWrite], group: CommitGroup, isRepetition: Bool) throws(StoreError)
        -> [Result<UploadChange, StoreError>]
    /// Nil where there is no such upload.
    func upload(_ id: CommandID) throws(StoreError) -> Upload?
    /// The upload whose creation had the idempotency key; nil where there is none.
    func upload(idempotencyKey: String) throws(StoreError) -> Upload?
    /// The command that holds a unique key; nil where the key is free.
    /// - Parameter shardByte: of the ids of its commands.
    func holder(of key: UniqueKey, shardByte: UInt8) throws(StoreError) -> CommandID?
    /// The bytes of an upload that the shard keeps; nil where it keeps none.
    func uploadBody(_ id: CommandID) throws(StoreError) -> [UInt8]?
    /// Uploads of a shard in the order of their ids, or in the reverse order, at most `limit`.
    /// - Parameters:
    ///   - state: nil: any.
    ///   - after: excluded; nil starts at the first.
    func uploads(shard: Int, state: UploadState?, order: CommandOrder, after: CommandID?, limit: Int) throws(StoreError)
        -> [Upload]
    /// Uploads of all usable shards, the newest first, at most `limit`.
    /// - Parameters:
    ///   - state: nil: any.
    ///   - after: excluded; nil starts at the newest.
    func uploads(state: UploadState?, after: CommandID?, limit: Int) throws(StoreError) -> [Upload]
    /// Uploads whose ``Upload/due`` has come, the first due first, at most `limit`.
    func dueUploads(shard: Int, limit: Int) throws(StoreError) -> [Upload]
    /// ``dueUploads(shard:limit:)`` of every shard.
    /// - Parameter each: gets those of a shard, where it has some or cannot be read.
    func dueUploads(limit: Int, each: (Int, Result<[Upload], StoreError>) -> Void)
    /// The id of the store, which its spool has too; nil for a store without one, or while no shard can be read.
    func storeID() throws(StoreError) -> String?
    /// Whether an older copy took the place of the shard, by a restore or an adoption, and the spool was not compared with
    /// it since. A file in the spool may have bytes then that were acknowledged, and of which no row knows.
    func isOlderThanSpool(shard: Int) throws(StoreError) -> Bool
    /// Notes that the spool was compared with the shard.
    func noteSpoolCompared(shard: Int) throws(StoreError)
}

extension UploadStore {
    /// ``apply(_:group:isRepetition:)``, repeated while the outcome is unknown.
    package func apply(
        _ writes: [UploadWrite], group: CommitGroup
    ) throws(StoreError) -> [Result<UploadChange, StoreError>] {
        try untilKnown { isRepetition throws(StoreError) in
            try apply(writes, group: group, isRepetition: isRepetition)
        }
    }

    package func storeID() throws(StoreError) -> String? { nil }
    package func isOlderThanSpool(shard: Int) throws(StoreError) -> Bool { false }
    package func noteSpoolCompared(shard: Int) throws(StoreError) {}
}
