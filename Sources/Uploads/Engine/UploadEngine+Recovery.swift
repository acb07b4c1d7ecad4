package import Commands
internal import Glibc
internal import Host
internal import Logging
internal import Store
internal import Synchronization
internal import UploadSpool

extension UploadEngine {
    /// The result of ``recover()``.
    package struct Recovery: Sendable, Equatable {
        /// Uploads that go on.
        package var open = 0
        /// Of those, the ones whose files had bytes beyond the durable offset.
        package var truncated = 0
        /// Uploads whose bytes are not in the spool any more. They have ended.
        package var lost: [CommandID] = []
        /// Open uploads whose files are missing. They wait until the files are back, or until they expire.
        package var missing: [CommandID] = []
        /// Open uploads by their routes.
        package var routes: [String: Int] = [:]
        /// Bytes in the spool.
        package var bytes: Int64 = 0
    }

    /// Brings the files to the offsets in the store, after a crash or not. Call it before the first request.
    /// - Parameter endsMissing: ends uploads whose files are missing, by a person's word.
    /// - Throws: ``UploadError`` `unavailable` where the spool is not that of the store, or lacks the files of all open
    ///   uploads. Nothing is changed then.
    package func recover(endsMissing: Bool = false) async throws(UploadError) -> Recovery {
        var recovery = Recovery()
        try await onDisk { [spool] () throws(SystemError) in try spool.prepare() }
        let isKnown = try await checkMark(endsMissing: endsMissing)
        let older = try await olderShards()
        for shard in 0..<store.shardCount {
            var after: CommandID?
            while true {
                let page = try await uploads(shard, after: after)
                for upload in page where upload.storage != .none {
                    if upload.state == .open, older.contains(shard) { try await keepNewerBytes(of: upload) }
                    try await recover(upload, endsMissing: endsMissing, &recovery)
                }
                guard let last = page.last else { break }
                after = last.id
            }
        }
        try await clearOrphans(older)
        // The files may come with another mount of the spool.
        if isKnown { try await noteCompared(older) }
        recovery.bytes = space.withLock { $0.used }
        return recovery
    }

    /// Reads the mark of the spool, and makes it where the spool has none: it is new, or of an earlier version.
    /// - Returns: whether it had one.
    private func checkMark(endsMissing: Bool) async throws(UploadError) -> Bool {
        guard let id = try await read({ store throws(StoreError) in try store.storeID() }) else { return false }
        let mark = SpoolMark(spool, store: id)
        switch try await onDisk({ () throws(SystemError) in try mark.standing }) {
        case .own: return true
        case .foreign(let name):
            throw UploadError(
                .unavailable,
                "The spool \(spool.path) is that of another store, whose mark \(name) it has; mount the spool of this store "
                    + "there.")
        case .missing:
            let result = try await read { [spool] store throws(StoreError) in
                try SpoolCheck(store: store, spool: spool).run()
            }
            guard endsMissing || !result.lacksAll else {
                throw UploadError(.unavailable, result.absence(of: spool))
            }
            try await onDisk { [spool] () throws(SystemError) in
                _ = try SpoolFile(mark.path)
                try spool.sync()
            }
            return false
        }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any CommandStore) throws(StoreError) -> Value
    ) async throws(UploadError) -> Value {
        let result = await disk.run { [store] () throws(Never) in
            Result { () throws(StoreError) in try body(store) }
        }
        do throws(StoreError) { return try result.get() } catch { throw UploadError(error) }
    }

    /// Removes the files of small uploads whose commit a crash has prevented.
    /// - Parameter older: the shards that are older than the spool.
    private func clearOrphans(_ older: Set<Int>) async throws(UploadError) {
        for id in try await onDisk({ [spool] () throws(SystemError) in try spool.files() }) {
            let row: Upload?
            do throws(StoreError) {
                row = try await committer.read { store throws(StoreError) in try store.upload(id) }
            } catch {
                // Its shard cannot be read now: it may have a row.
                continue
            }
            guard row == nil else { continue }
            let proof = OrphanProof(id, row: row, isShardOlder: older.contains(id.shard(of: store.shardCount)))
            let end = proof == nil ? "kept in “unclaimed”" : "removed"
            logger.notice("The spool had a file of upload \(id), which is not in the store; it is \(end).")
            try await clear(id, proof)
        }
    }

    private func uploads(_ shard: Int, after: CommandID?) async throws(UploadError) -> [Upload] {
        let result = await disk.run { [store] () throws(Never) in
            Result { () throws(StoreError) in
                try store.uploads(shard: shard, state: nil, order: .oldestFirst, after: after, limit: 1000)
            }
        }
        do throws(StoreError) { return try result.get() } catch {
            // The uploads of a damaged shard wait for its repair, and the others go on.
            guard error.code.makesShardUnusable else { throw UploadError(error) }
            logger.error("The uploads of shard \(shard) cannot be read: \(error)")
            return []
        }
    }

    private func recover(
        _ upload: Upload, endsMissing: Bool, _ recovery: inout Recovery
    ) async throws(UploadError) {
        switch upload.state {
        case .ended: await dropBytes(of: upload)
        case .complete:
            space.withLock { $0.add(upload.id, size: upload.offset, SpoolSpace.Account(upload.facts), isOpen: false) }
        case .open:
            if case .final? = upload.facts.concatenation {
                // Its client sends no bytes to it, and repeats the request that makes it.
                return try await end(upload.id, reason: "the door ended while it joined the parts")
            }
            guard let found = try await bringToOffset(upload) else {
                if endsMissing {
                    recovery.lost.append(upload.id)
                    return try await end(upload.id, reason: SpoolCheck.lostReason)
                }
                recovery.open += 1
                recovery.missing.append(upload.id)
                logger.warning("Upload \(upload.id) waits: its file is not in the spool.")
                return
            }
            recovery.open += 1
            if let route = upload.facts.route { recovery.routes[route, default: 0] += 1 }
            guard found >= upload.offset else {
                recovery.lost.append(upload.id)
                let reason = "its file in the spool has \(found) bytes instead of \(upload.offset)"
                logger.error("Upload \(upload.id) cannot go on: \(reason).")
                return try await end(upload.id, reason: reason)
            }
            if found > upload.offset { recovery.truncated += 1 }
        }
    }

    // MARK: Missing files

    /// Brings the file of an open upload to its offset, and counts its room.
    /// - Returns: the size that it had, which may be too small; nil where it is missing.
    private func bringToOffset(_ upload: Upload) async throws(UploadError) -> Int64? {
        let path = spool.file(of: upload.id)
        let found = try await onDisk { () throws(SystemError) -> Int64? in
            guard let file = try SpoolFile.open(path, at: upload.offset) else { return nil }
            let size = try file.size
            // Blocks that were set aside after the bytes go with the bytes beyond the offset.
            if size > upload.offset { try file.truncate(to: upload.offset) }
            return size
        }
        space.withLock { $0.add(upload.id, size: upload.offset, SpoolSpace.Account(upload.facts), isOpen: true) }
        missing.withLock { missing in
            if found == nil { missing.insert(upload.id) } else { missing.remove(upload.id) }
        }
        return found
    }

    /// - Throws: `unavailable` while the file of an open upload is missing that was missing before.
    func requireFile(of upload: Upload) async throws(UploadError) {
        guard upload.state == .open, missing.withLock({ $0.contains(upload.id) }) else { return }
        guard let found = try await bringToOffset(upload), found >= upload.offset else {
            throw .isMissing(upload)
        }
    }

    /// The file of an open upload, for more bytes.
    /// - Throws: `unavailable` where it does not have the bytes that are durable.
    func openFile(of upload: Upload) async throws(UploadError) -> SpoolFile {
        try await requireFile(of: upload)
        let file = try await onDisk { [path = spool.file(of: upload.id)] () throws(SystemError) -> SpoolFile? in
            guard let file = try SpoolFile.open(path, at: upload.offset) else { return nil }
            return try file.size < upload.offset ? nil : file
        }
        if let file { return file }
        missing.withLock { _ = $0.insert(upload.id) }
        throw .isMissing(upload)
    }
}

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
