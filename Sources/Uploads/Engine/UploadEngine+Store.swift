package import Commands
internal import Crypto
internal import Host
internal import Store
internal import Synchronization
internal import UploadSpool

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
            guard let found = try await find(key: key.stored) else {
                return try await storeNew(facts, bytes, key: key)
            }
            try found.checkCreation(facts, length: length)
            var request = UploadAppend(offset: 0, size: length, completion: .atEnd)
            request.isRepeat = true
            return try await append(request, to: found.id) { receiver in
                bytes.withUnsafeBytes { receiver.add($0) }
                try await receiver.flush()
            }
        }
    }

    private func storeNew(
        _ stated: UploadFacts, _ bytes: [UInt8], key: IdempotencyKey?
    ) async throws(UploadError) -> Upload {
        let length = Int64(bytes.count)
        if let digest = stated.digest {
            var found = IncrementalDigest(digest.algorithm)
            bytes.withUnsafeBytes { found.update($0) }
            guard found.finish() == digest else {
                throw UploadError(
                    .digestMismatch, "The bytes do not have the stated digest, and were dropped; send the file again.")
            }
        }
        let (facts, byte) = try await decide(stated, length: length)
        let now = store.clock.now()
        var upload = Upload(id: CommandID(now: now, shardByte: byte), length: length, facts: facts, createdAt: now)
        upload.offset = length
        upload.state = .complete
        upload.storage = .row
        let sha256 = key != nil || rules.needsDigest(facts) ? Array(SHA256.hash(data: bytes)) : nil
        upload.idempotencyKey = key?.stored
        upload.fingerprint = key.map { _ in stated.fingerprint(length: length) }
        upload.fingerprint?.content = sha256
        space.withLock { $0.add(upload.id, size: 0, SpoolSpace.Account(facts), isOpen: false) }
        let path = spool.file(of: upload.id)
        do throws(UploadError) {
            try await reserve(upload.id, nil, to: length, limit: length)
            try await onDisk { () throws(SystemError) in
                let file = try SpoolFile(path)
                try file.write(bytes, at: 0)
                try file.setModified(now)
            }
            let submission = try await submission(of: upload, sha256: sha256)
            upload.due = submission == nil ? nil : now + Self.firstLook
            guard let stored = try await commit(.store(upload, body: bytes, submission)).upload else {
                throw UploadError.notFound(upload.id)
            }
            space.withLock { $0.settle(upload.id, size: length) }
            statistics.created(stored)
            statistics.received(stored, bytes: length)
            statistics.becameDurable(stored, bytes: length)
            statistics.completed(stored, submission, at: store.clock.now())
            logCompletion(of: stored)
            if let command = stored.command, command != upload.id { await dropBytes(of: stored) }
            return stored
        } catch {
            space.withLock { $0.release(upload.id) }
            removeFile(of: upload.id)
            throw error
        }
    }
}
