package import Commands
package import Store

/// The uploads of the door. A reading needs no running door.
extension QueueAccess {
    /// Uploads of all shards, the newest first.
    /// - Parameters:
    ///   - state: nil: any.
    ///   - after: excluded; nil: from the newest on.
    /// - Returns: at most `limit`, and whether there are more.
    package func uploads(
        _ state: UploadState?, after: CommandID? = nil, limit: Int
    ) throws(StoreError) -> (uploads: [Upload], hasMore: Bool) {
        let found = try store.mapShards(or: []) { shard throws(StoreError) in
            try store.uploads(shard: shard, state: state, order: .newestFirst, after: after, limit: limit + 1)
        }.joined().sorted { $0.id > $1.id }
        return (Array(found.prefix(limit)), found.count > limit)
    }

    /// Nil where there is no such upload, or its row is gone.
    package func upload(_ id: CommandID) throws(StoreError) -> Upload? { try store.upload(id) }
}
