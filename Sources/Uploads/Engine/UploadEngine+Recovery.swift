package import Commands
internal import Host
internal import Logging
internal import Store
internal import Synchronization

extension UploadEngine {
    /// The result of ``recover()``.
    package struct Recovery: Sendable, Equatable {
        /// Uploads that go on.
        package var open = 0
        /// Of those, the ones whose files had bytes beyond the durable offset.
        package var truncated = 0
        /// Uploads whose bytes are not in the spool any more. They have ended.
        package var lost: [CommandID] = []
        /// Bytes in the spool.
        package var bytes: Int64 = 0
    }

    /// Brings the files to the offsets in the store, after a crash or not. Call it before the first request.
    package func recover() async throws(UploadError) -> Recovery {
        var recovery = Recovery()
        try await onDisk { [spool] () throws(SystemError) in try spool.prepare() }
        for shard in 0..<store.shardCount {
            var after: CommandID?
            while true {
                let page = try await uploads(shard, after: after)
                for upload in page where upload.storage != .none { try await recover(upload, &recovery) }
                guard let last = page.last else { break }
                after = last.id
            }
        }
        try await removeOrphans()
        recovery.bytes = space.withLock { $0.used }
        return recovery
    }

    /// Removes the files of small uploads whose commit a crash has prevented.
    private func removeOrphans() async throws(UploadError) {
        for id in try await onDisk({ [spool] () throws(SystemError) in try spool.files() }) {
            let row: Upload?
            do throws(StoreError) {
                row = try await committer.read(id) { store throws(StoreError) in try store.upload(id) }
            } catch {
                // Its shard cannot be read now: it may have a row.
                continue
            }
            guard row == nil else { continue }
            logger.notice("The spool had a file of upload \(id), which is not in the store; it is removed.")
            try await onDisk { [spool] () throws(SystemError) in try spool.remove(id) }
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

    private func recover(_ upload: Upload, _ recovery: inout Recovery) async throws(UploadError) {
        switch upload.state {
        case .ended: await dropBytes(of: upload)
        case .complete: space.withLock { $0.add(upload.id, size: upload.offset, unallocated: 0) }
        case .open:
            if case .final? = upload.facts.concatenation {
                // Its client sends no bytes to it, and repeats the request that makes it.
                return try await end(upload.id, reason: "the door ended while it joined the parts")
            }
            recovery.open += 1
            let path = spool.file(of: upload.id)
            let found = try await onDisk { () throws(SystemError) in
                let file = try SpoolFile(path)
                let size = try file.size
                // Blocks that were reserved go with the bytes, and are reserved again.
                if size > upload.offset { try file.truncate(to: upload.offset) }
                var isAllocated = false
                if let length = upload.length { isAllocated = try file.reserve(length) }
                return (size: size, isAllocated: isAllocated)
            }
            guard found.size >= upload.offset else {
                recovery.lost.append(upload.id)
                let reason = "its file in the spool has \(found.size) bytes instead of \(upload.offset)"
                logger.error("Upload \(upload.id) cannot go on: \(reason).")
                return try await end(upload.id, reason: reason)
            }
            if found.size > upload.offset { recovery.truncated += 1 }
            let size = upload.length ?? upload.offset
            space.withLock {
                $0.add(upload.id, size: size, unallocated: found.isAllocated ? 0 : size - upload.offset)
            }
        }
    }
}
