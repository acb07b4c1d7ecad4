package import Commands
internal import Host
package import Store
package import UploadSpool

/// The outcome of the removal of an upload.
package enum UploadRemoval: Sendable, Equatable {
    case removed
    /// It has ended before.
    case ended
    /// It has become this command, which is cancelled instead.
    case isCommand(CommandID)
    case missing
}

/// The uploads of the door. None of this needs a running door.
extension QueueAccess {
    /// Uploads of all shards, the newest first.
    /// - Parameters:
    ///   - state: nil: any.
    ///   - after: excluded; nil: from the newest on.
    /// - Returns: at most `limit`, and whether there are more.
    package func uploads(
        _ state: UploadState?, after: CommandID? = nil, limit: Int
    ) throws(StoreError) -> (uploads: [Upload], hasMore: Bool) {
        let found = try store.uploads(state: state, after: after, limit: limit + 1)
        return (Array(found.prefix(limit)), found.count > limit)
    }

    /// Nil where there is no such upload, or its row is gone.
    package func upload(_ id: CommandID) throws(StoreError) -> Upload? { try store.upload(id) }

    /// Ends an upload that has not become a command, and deletes its bytes. A door answers its client with 410 for a day.
    /// - Throws: ``SystemError`` where the file cannot be deleted; the door deletes it within a day.
    package func removeUpload(_ id: CommandID, reason: String = "removed by a person") throws -> UploadRemoval {
        let group = store.commitGroup(of: id.shard(of: store.shardCount))
        let end = UploadWrite.end(id, reason: reason, due: now + UploadLimits.memory)
        let change = try store.apply([end], group: group)[0].get()
        guard let upload = change.upload else { return .missing }
        guard change.isApplied else { return upload.state == .ended ? .ended : .isCommand(upload.command ?? id) }
        try spool.remove(id)
        _ = try store.apply([.dropBytes(id)], group: group)
        return .removed
    }

    // MARK: The spool

    private var spool: SpoolDirectory { SpoolDirectory(path: directory.uploads) }

    /// Compares the uploads with their files.
    package var spoolCheck: SpoolCheck { SpoolCheck(store: store, spool: spool) }

    /// How full the spool is; nil where there is none.
    /// - Parameter limits: of the configuration.
    package func spoolFigures(_ limits: UploadLimits) -> SpoolFigures? {
        SpoolFigures.read(directory, limits, hasDoor: door != nil) { (try? spoolCheck.run())?.bytes ?? 0 }
    }

    /// Whether the spool is that of this store: the directory under a file system that is not mounted is not.
    package var hasOwnSpool: Bool {
        guard let id = try? store.storeID() else { return false }
        return (try? SpoolMark(spool, store: id).standing) == .own
    }
}
