internal import Commands
internal import Glibc
internal import Host
internal import NIOCore
internal import Operations
internal import Store
internal import Transfers

/// The part file of a download, beside its target. Every call runs in the queue of its file system
/// (``BlockingIO``).
struct DownloadFile: Sendable {
    /// Bytes of a body, with their place in the file.
    struct Block: Sendable {
        var bytes: ByteBuffer
        var offset: Int64
        /// Whether the part must have these bytes already; false: they are written.
        var isCompared: Bool
    }

    /// How the part becomes the target.
    struct Publication: Sendable {
        /// Bytes of the file.
        var length: Int64
        /// Nil: those of the replaced file; ``newMode`` where none is replaced.
        var mode: UInt32?
        var newMode: UInt32
        /// The time of modification; nil: that of the last write.
        var modified: Timestamp?
        var replacesTarget: Bool
        var record: TargetRecord
    }

    /// Bytes that a checksum reads at once.
    private static let checksumStep = 1 << 20

    /// The target as far as it is known at the start; the part stands beside it.
    let target: CopyTarget
    private let part: PartFile
    private let queue: FileSystemQueue

    /// Continues the newest part of earlier executions, or begins a new one.
    /// - Parameter checkpoint: nil: no part can be continued.
    init(
        at target: CopyTarget, _ queue: FileSystemQueue, _ execution: CommandExecution,
        _ checkpoint: DownloadCheckpoint?
    ) async throws {
        let (id, claim) = (execution.id, execution.claim)
        self.target = target
        self.queue = queue
        part = try await queue.run(
            { _ in
                try target.requireReplaceable()
                let path = target.temporaryPath(id, claim: claim)
                if let part = PartFile.adopt(
                    target.temporaryPaths(id, before: claim), as: path,
                    checkpoint.map { ($0.boot, $0.synced) }, size: .max)
                {
                    return part
                }
                do throws(SystemError) {
                    return try PartFile.create(path)
                } catch {
                    throw target.failure(error, "cannot create a file in \(target.directory)")
                }
            }, onLateResult: { $0.remove() })
    }

    /// Valid bytes of earlier executions.
    var initialLength: Int64 { part.length }

    private func failure(_ error: SystemError = SystemError()) -> CommandFailure {
        target.failure(error, "cannot write \(target.path) to disk")
    }

    // MARK: Bytes

    /// Compares and writes, in the order of the blocks.
    /// - Returns: false where the part has other bytes than a block; the blocks after it are not written.
    func apply(_ blocks: [Block]) async throws -> Bool {
        guard !blocks.isEmpty else { return true }
        return try await queue.run { _ in
            for block in blocks {
                if block.isCompared {
                    guard try isEqual(block) else { return false }
                } else {
                    try write(block)
                }
            }
            return true
        }
    }

    private func write(_ block: Block) throws(CommandFailure) {
        let error = block.bytes.withUnsafeReadableBytes { bytes -> SystemError? in
            var done = 0
            while done < bytes.count {
                let count = pwrite(
                    part.descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done,
                    off_t(block.offset + Int64(done)))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return count < 0 ? SystemError() : SystemError(ENOSPC) }
                done += count
            }
            return nil
        }
        if let error { throw failure(error) }
    }

    private func isEqual(_ block: Block) throws(CommandFailure) -> Bool {
        let stored = try bytes(at: block.offset, maxCount: block.bytes.readableBytes)
        return stored.elementsEqual(block.bytes.readableBytesView)
    }

    /// - Returns: fewer bytes only at the end of the part.
    private func bytes(at offset: Int64, maxCount: Int) throws(CommandFailure) -> [UInt8] {
        var error: SystemError?
        let bytes = [UInt8](unsafeUninitializedCapacity: maxCount) { buffer, count in
            while count < maxCount {
                let read = pread(
                    part.descriptor, buffer.baseAddress.map { $0 + count }, maxCount - count,
                    off_t(offset + Int64(count)))
                if read < 0, errno == EINTR { continue }
                if read < 0 { error = SystemError() }
                guard read > 0 else { return }
                count += read
            }
        }
        if let error { throw target.failure(error, "cannot read \(part.path)") }
        return bytes
    }

    /// Discards all bytes.
    func truncate() async throws {
        try await queue.run { _ in
            guard ftruncate(part.descriptor, 0) == 0 else { throw failure() }
        }
    }

    /// Returns when the bytes written so far survive a loss of power.
    func sync() async throws {
        try await queue.run { _ in
            guard fdatasync(part.descriptor) == 0 else { throw failure() }
        }
    }

    /// Deletes the part, unless it has become the target.
    /// - Returns: whether it is deleted by now.
    @discardableResult
    func remove() async -> Bool { await queue.cleanUp { part.remove() } }

    /// Deletes a part that has no byte yet.
    func removeIfEmpty() async {
        await queue.cleanUp {
            var status = stat()
            if fstat(part.descriptor, &status) == 0, status.st_size == 0 { part.remove() }
        }
    }

    // MARK: End

    /// Reads the part and compares its checksums.
    /// - Parameter read: is called with the number of bytes so far.
    /// - Returns: the first that is wrong.
    func differing(
        _ completion: DownloadCompletion, read: @Sendable (_ bytes: Int64) -> Void = { _ in }
    ) async throws -> Checksum? {
        var hashes = completion.checksums.map { $0.algorithm.makeHash() }
        guard !hashes.isEmpty else { return nil }
        var offset: Int64 = 0
        while offset < completion.length {
            try Task.checkCancellation()
            let (start, count) = (offset, Int(min(Int64(Self.checksumStep), completion.length - offset)))
            let piece = try await queue.run { _ in try bytes(at: start, maxCount: count) }
            guard !piece.isEmpty else { break }
            for index in hashes.indices { hashes[index].update(piece) }
            offset += Int64(piece.count)
            read(offset)
        }
        return zip(completion.checksums, hashes).first { $0.bytes != $1.bytes }?.0
    }

    /// Makes the part durable, and gives it the name of the target in one step.
    /// A file that an earlier execution of the command has published is replaced in any case.
    /// - Returns: false where the target exists and is not to be replaced.
    func publish(as target: CopyTarget, _ publication: Publication) async throws -> Bool {
        try await queue.run { call in
            let replaces = publication.replacesTarget || target.isPublished(by: publication.record.command)
            if replaces { try target.requireReplaceable() } else if try target.exists() { return false }
            let replaced = replaces ? target.attributes() : nil
            do throws(SystemError) {
                try part.complete(
                    size: publication.length, mode: publication.mode ?? replaced?.mode ?? publication.newMode,
                    owner: replaced)
            } catch {
                throw failure(error)
            }
            // Writing and truncating set the time too.
            if let modified = publication.modified, !part.setModified(modified) { throw failure() }
            publication.record.store(in: part.descriptor)
            return try target.take(part, replacing: replaces, call)
        }
    }
}
