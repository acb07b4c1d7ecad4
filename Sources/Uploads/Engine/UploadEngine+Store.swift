internal import Commands
internal import Host
package import Store
internal import Synchronization

extension UploadEngine {
    /// Takes a small upload as a whole: its bytes are in the transaction that makes its command, because a durable
    /// file for each would be bounded by the flushes of the disk (measured: 8 threads 942–7,345 files/s, rows in
    /// groups of 64 13,323/s).
    ///
    /// The file in the spool is not synced. A worker that finds it missing or older than the boot makes it from the
    /// row, with the same modification time: by size and time an operation knows that its source has not changed.
    package func store(
        _ facts: UploadFacts, _ bytes: [UInt8], key: IdempotencyKey? = nil
    ) async throws(UploadError) -> Upload {
        let length = Int64(bytes.count)
        try check(length, facts)
        guard let key else { return try await storeNew(facts, bytes, key: nil) }
        return try await holding(key) { () async throws(UploadError) in
            let keyed = StoredKey(key, facts, bytes)
            guard let found = try await find(key: keyed.name) else {
                return try await storeNew(facts, bytes, key: keyed)
            }
            if found.fingerprint == keyed.fingerprint { return found }
            // A door of an earlier release has kept it as a file, or its first request announced no length.
            guard found.fingerprint == facts.fingerprint(length: length) else { throw .keyConflict(found) }
            if found.state == .complete { return found }
            let rest = Array(bytes.dropFirst(Int(found.offset)))
            let request = UploadAppend(offset: found.offset, size: Int64(rest.count), completion: .atEnd)
            return try await append(request, to: found.id) { receiver in
                rest.withUnsafeBytes { receiver.add($0) }
                try await receiver.flush()
            }
        }
    }

    private func storeNew(
        _ facts: UploadFacts, _ bytes: [UInt8], key: StoredKey?
    ) async throws(UploadError) -> Upload {
        let length = Int64(bytes.count)
        if let digest = facts.digest {
            var found = IncrementalDigest(digest.algorithm)
            bytes.withUnsafeBytes { found.update($0) }
            guard found.finish() == digest else {
                throw UploadError(
                    .digestMismatch, "The bytes do not have the stated digest, and were dropped; send the file again.")
            }
        }
        let now = clock()
        let byte = try rules.shardByte(for: facts, length: length)
        var upload = Upload(id: CommandID(now: now, shardByte: byte), length: length, facts: facts, createdAt: now)
        upload.offset = length
        upload.state = .complete
        upload.storage = .row
        upload.idempotencyKey = key?.name
        upload.fingerprint = key?.fingerprint
        try await reserve(upload.id, length...length)
        let path = spool.file(of: upload.id)
        do throws(UploadError) {
            try await onDisk { () throws(SystemError) in
                let file = try SpoolFile(path)
                try file.write(bytes, at: 0)
                try file.setModified(now)
            }
            let submission = try await submission(of: upload)
            upload.due = submission == nil ? nil : now + Self.firstLook
            guard let stored = try await commit(.store(upload, body: bytes, submission)).upload else {
                throw UploadError.notFound(upload.id)
            }
            space.withLock { $0.settle(upload.id, size: length) }
            statistics.created(stored)
            statistics.received(stored, bytes: length)
            statistics.becameDurable(stored, bytes: length)
            statistics.completed(stored, submission, at: clock())
            if let command = stored.command, command != upload.id { await dropBytes(of: stored) }
            return stored
        } catch {
            space.withLock { $0.release(upload.id) }
            removeFile(of: upload.id)
            throw error
        }
    }
}
