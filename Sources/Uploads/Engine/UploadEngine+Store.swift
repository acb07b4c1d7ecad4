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
    package func store(_ facts: UploadFacts, _ bytes: [UInt8]) async throws(UploadError) -> Upload {
        let length = Int64(bytes.count)
        try check(length, facts)
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
        try await reserve(upload.id, length)
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
