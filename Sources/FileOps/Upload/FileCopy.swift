internal import Commands
internal import Glibc
internal import Host
internal import Operations
internal import Transfers

/// An upload to a `file:` URL. The copy grows under a temporary name beside its target and replaces the
/// target in one step, so that a partial file is never visible. Names of temporary files contain the claim,
/// so executions of one command never use the same file. Holes of the source are holes of the copy.
///
/// A copy of more than 16 MiB that is released, or dies with its worker, leaves its temporary file to the
/// next execution, which renames it first. All bytes of that file are valid while the machine runs. After a
/// loss of power the synced bytes are valid; the store knows their number (``UploadCheckpoint``). A copy that
/// fails or is cancelled deletes its file; one that is cancelled while it waits leaves that to a `cleanup`
/// (``CleanupOperation``).
///
/// Every call runs in the queue of its file system (``BlockingIO``). A hung call does not delay the end of a
/// cancelled copy; see ``PartFile`` for the effects that such a call may still have.
struct FileCopy: Sendable {
    let upload: UploadPayload
    let execution: CommandExecution

    /// Bytes of data copied between two checks for cancellation.
    static let step = 4 << 20
    /// Copies up to this size start over: that costs less than the commit of a checkpoint.
    static let smallCopy: Int64 = 16 << 20
    /// Bytes between two syncs.
    static let syncStep: Int64 = 256 << 20

    func run() async throws -> [UInt8]? {
        let path = upload.to.filePath
        let name = path.lastPathName
        guard !path.endsWithBytes(of: "/"), !name.isEmpty, name != ".", name != ".." else {
            throw CommandFailure(.final, reason: "\(upload.to.text) does not name a file")
        }
        let target = try await CopyTarget.following(path)
        let source: SourceFile
        let part: PartFile
        do {
            let opened = try await BlockingIO.sources.run(at: upload.file) { try upload.openSource(beneath: []) }
            part = try await BlockingIO.copies.queue(of: target.path)
                .run({ _ in try begin(opened, target) }, onLateResult: { $0.remove() })
            source = opened
        } catch let missing as MissingSource {
            if let result = try await confirmDelivery(target) { return result }
            await removeLeftovers(target)
            throw missing.failure
        } catch let failure as CommandFailure where failure.fault == .final {
            await removeLeftovers(target)
            throw failure
        }
        let queue = BlockingIO.copies.queue(from: upload.file, to: target.path)
        do {
            try await copy(source, to: part, target, queue)
            try Task.checkCancellation()
            try await queue.run { call in
                try finish(source, part, target, call)
                if upload.removeSource { try requireWhole(source, part, target) }
            }
        } catch {
            if !keepsPart(after: error, source) {
                let isRemoved = await queue.cleanUp { part.remove() }
                // Otherwise a `cleanup` deletes the part. A small copy has no checkpoint.
                if isRemoved, source.identity.size > Self.smallCopy { try? await execution.saveCheckpoint([]) }
            }
            throw error
        }
        // The copy is in place now, so a cancellation comes too late.
        return Self.result(
            source.identity.size, upload.removeSource ? await SourceRemovalResult(deleting: source) : nil)
    }

    private func copy(
        _ source: SourceFile, to part: PartFile, _ target: CopyTarget, _ queue: FileSystemQueue
    ) async throws {
        let size = source.identity.size
        var (offset, synced) = (part.length, part.synced)
        var steps = PacedSteps(execution)
        execution.progress(offset: offset, total: size)
        if size > Self.smallCopy { try await execution.save(resumePoint(synced), of: source.identity) }
        while offset < size {
            try Task.checkCancellation()
            let rest = offset..<size
            let count = try await steps.next(Int(min(Int64(Self.step), size - offset)))
            let (end, copied) = try await queue.run { _ in
                do throws(SystemError) {
                    return try source.copy(rest, maxBytes: count, to: part.descriptor)
                } catch {
                    throw target.failure(error, "cannot copy \(upload.file) to \(target.path)")
                }
            }
            guard end > offset else {
                throw SourceFile.changed(upload.file, "while it was copied: it ends after \(offset) bytes now")
            }
            offset = end
            execution.transferred(copied)
            execution.progress(offset: offset, total: size)
            if offset - synced >= Self.syncStep, offset < size {
                try await queue.run { _ in
                    guard fdatasync(part.descriptor) == 0 else {
                        throw target.failure(SystemError(), Self.writing(target))
                    }
                }
                synced = offset
                try await execution.save(resumePoint(synced), of: source.identity)
            }
        }
    }

    private func resumePoint(_ synced: Int64) -> UploadCheckpoint.ResumePoint {
        .copy(boot: ProcessIdentity.bootID, synced: synced)
    }

    /// Whether the next execution can continue the part: this one was released, or the file system did not
    /// answer.
    private func keepsPart(after error: any Error, _ source: SourceFile) -> Bool {
        guard source.identity.size > Self.smallCopy else { return false }
        return error is CancellationError ? execution.isReleased : (error as? CommandFailure)?.fault == .link
    }

    // MARK: Blocking parts

    private func begin(_ source: SourceFile, _ target: CopyTarget) throws(CommandFailure) -> PartFile {
        try target.check(for: source)
        if let below = upload.path, upload.to.filePath.endsWithBytes(of: "/\(below)") {
            try target.makeFolders(
                below.utf8.count { $0 == .slash }, permissions: upload.mode ?? source.permissions)
        }
        let path = target.temporaryPath(execution.id, claim: execution.claim)
        unlink(path)
        var checkpoint: (String, Int64)?
        if case .copy(let boot, let synced)? = UploadCheckpoint(execution.checkpoint, of: source.identity)?.resumePoint
        {
            checkpoint = (boot, synced)
        }
        if let part = PartFile.adopt(
            target.temporaryPaths(execution.id, before: execution.claim), as: path, checkpoint,
            size: source.identity.size)
        {
            return part
        }
        do { return try PartFile.create(path) } catch {
            throw target.failure(error, "cannot create a file in \(target.directory)")
        }
    }

    /// Deletes the temporary files of earlier executions, because none will be continued.
    private func removeLeftovers(_ target: CopyTarget) async {
        let areRemoved = await BlockingIO.copies.queue(of: target.path).cleanUp {
            for path in target.temporaryPaths(execution.id, before: execution.claim) { unlink(path) }
        }
        if areRemoved, execution.checkpoint != nil { try? await execution.saveCheckpoint([]) }
    }

    private func finish(
        _ source: SourceFile, _ part: PartFile, _ target: CopyTarget, _ call: FileSystemCall
    ) throws {
        try source.requireUnchanged()
        try target.requireReplaceable()
        let replaced = target.attributes()
        do {
            try part.complete(
                size: source.identity.size, mode: replaced?.mode ?? upload.mode ?? source.permissions, owner: replaced)
        } catch {
            throw target.failure(error, Self.writing(target))
        }
        _ = try target.take(part, call)
    }

    /// Checks the length of the copy before the source, perhaps the only other copy, is deleted. It uses the
    /// open file, because a reader of the target may have moved it already.
    private func requireWhole(_ source: SourceFile, _ part: PartFile, _ target: CopyTarget) throws(CommandFailure) {
        var status = stat()
        guard fstat(part.descriptor, &status) == 0 else {
            throw target.failure(SystemError(), "cannot examine \(target.path)")
        }
        let size = source.identity.size
        guard Int64(status.st_size) == size else {
            throw CommandFailure(
                .command,
                reason: "\(target.path) has \(status.st_size) of \(size) bytes after the copy; the source is kept")
        }
    }

    private static func writing(_ target: CopyTarget) -> String { "cannot write \(target.path) to disk" }

    // MARK: Result

    /// Whether an earlier execution has moved the file to its target and died before it could report that. A
    /// file that is older than the command is a different one.
    private func confirmDelivery(_ target: CopyTarget) async throws -> [UInt8]? {
        guard execution.claim > 1, let size = upload.source?.size else { return nil }
        let execution = execution
        let found = try await BlockingIO.copies.run(at: target.path) {
            var status = stat()
            guard stat(target.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) == size
            else { return false }
            let modified = SourceIdentity(status, hasStableInode: false).modified
            return execution.mayHaveWritten(at: Timestamp(milliseconds: modified / 1_000_000))
        }
        guard found else { return nil }
        execution.progress(offset: size, total: size)
        return Self.result(size, SourceRemovalResult(problem: nil))
    }

    private static func result(_ size: Int64, _ removal: SourceRemovalResult?) -> [UInt8] {
        var writer = JSONWriter(capacity: 64)
        writer.beginObject()
        writer.member("bytes", size)
        removal?.write(to: &writer)
        writer.endObject()
        return writer.bytes
    }
}
