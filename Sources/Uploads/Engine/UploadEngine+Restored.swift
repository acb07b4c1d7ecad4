internal import Commands
internal import Glibc
internal import Host
internal import Logging
internal import Store
internal import UploadSpool

/// A restore puts back rows that are older than the files in the spool. An upload that was acknowledged since may have no
/// row then, and one that was open may have more bytes than its row says. Without a restore, such bytes are what a crash
/// has left of a request that was not answered.
extension UploadEngine {
    /// The shards that are older than the spool.
    func olderShards() async throws(UploadError) -> Set<Int> {
        try await read { store throws(StoreError) in
            var found: Set<Int> = []
            for shard in 0..<store.shardCount {
                try store.ifUsable { () throws(StoreError) in
                    if try store.isOlderThanSpool(shard: shard) { found.insert(shard) }
                }
            }
            return found
        }
    }

    /// - Precondition: every file of the spool was compared with the rows of these shards.
    func noteCompared(_ shards: Set<Int>) async throws(UploadError) {
        guard !shards.isEmpty else { return }
        try await read { store throws(StoreError) in
            for shard in shards { try store.noteSpoolCompared(shard: shard) }
        }
        let unclaimed = UnclaimedFiles(spool)
        let contents = await disk.run { () throws(Never) in unclaimed.contents }
        guard contents.files > 0 else { return }
        logger.warning(
            "The restored store does not know all bytes in the spool; they are kept: deliver them with “sluice put”, or delete them",
            metadata: ["files": "\(contents.files)", "bytes": "\(contents.bytes)", "directory": "\(unclaimed.path)"])
    }

    /// Keeps the bytes of an open upload that its row does not count.
    func keepNewerBytes(of upload: Upload) async throws(UploadError) {
        try await onDisk { [spool] () throws(SystemError) in
            let file: SpoolFile
            do throws(SystemError) { file = try SpoolFile(existing: spool.file(of: upload.id)) } catch {
                guard error.code == ENOENT else { throw error }
                return
            }
            guard try file.size > upload.offset else { return }
            let unclaimed = UnclaimedFiles(spool)
            if upload.offset == 0 { try unclaimed.move(upload.id) } else { try unclaimed.copy(upload.id) }
        }
    }

    /// Deletes a file that belongs to no upload, or keeps it where that is not proved.
    func clear(_ id: CommandID, _ proof: OrphanProof?) async throws(UploadError) {
        try await onDisk { [spool] () throws(SystemError) in
            if let proof { try spool.remove(proof) } else { try UnclaimedFiles(spool).move(id) }
        }
    }
}

extension SpoolDirectory {
    /// Deletes a file of which no upload knows.
    fileprivate func remove(_ orphan: OrphanProof) throws(SystemError) { try remove(orphan.id) }
}

/// That a file in the spool belongs to no upload: its shard has no row of it, and is not older than the spool.
struct OrphanProof: Sendable {
    let id: CommandID

    /// - Parameters:
    ///   - row: of the upload, as its shard has it.
    ///   - isShardOlder: whether the shard is older than the spool.
    init?(_ id: CommandID, row: Upload?, isShardOlder: Bool) {
        guard row == nil, !isShardOlder else { return nil }
        self.id = id
    }
}
