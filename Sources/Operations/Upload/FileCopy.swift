internal import CLinux
internal import Commands
internal import Glibc
internal import Work

/// An upload to a `file:` URL: the copy grows under a temporary name beside its destination and takes its place in one step,
/// so that nobody ever sees half a file. Names of temporary files carry the claim, so executions of one command never meet.
///
/// A copy of more than 16 MiB that is released, or dies with its worker, leaves its temporary file to the next execution,
/// which gives it its own name first: nobody writes to it any more then, for a death is proven before its commands run
/// again. What was written can be trusted for as long as the machine runs, and after a loss of power as far as it was
/// synced, which the store knows (``UploadCheckpoint``). A copy that fails, or is cancelled while it runs, leaves nothing.
struct FileCopy: Sendable {
    let upload: UploadPayload
    let execution: Execution

    /// Bytes copied between two looks at whether the copy is still wanted.
    static let step = 4 << 20
    /// Up to this size a copy is done anew: that costs less than the commit of its trace.
    static let smallCopy: Int64 = 16 << 20
    /// How often a copy that stands still looks at its pace.
    static let paceStep: Duration = .milliseconds(100)
    /// Bytes between two syncs.
    static let syncStep: Int64 = 256 << 20

    private var target: String { upload.to.filePath }
    private var directory: String {
        let slash = target.lastIndex(of: "/") ?? target.startIndex
        return slash == target.startIndex ? "/" : String(target[..<slash])
    }
    private var name: Substring { target.split(separator: "/").last ?? "" }

    func run() async throws -> [UInt8]? {
        guard !name.isEmpty, name != ".", name != ".." else {
            throw Failure(.final, reason: "\(upload.to.text) names no file")
        }
        let source: SourceFile
        let part: PartFile
        do {
            let opened = try await BlockingIO.copies.run { try upload.openSource() }
            part = try await BlockingIO.copies.run { try begin(opened) }
            source = opened
        } catch let missing as MissingSource {
            if let result = try await confirmDelivery() { return result }
            try await clearAway()
            throw missing.failure
        } catch let failure as Failure where failure.fault == .final {
            try await clearAway()
            throw failure
        }
        do {
            try await copy(source, to: part)
            try Task.checkCancellation()
            try await BlockingIO.copies.run {
                try finish(source, part)
                if upload.removeSource { try requireWhole(source, part) }
            }
        } catch {
            let isLeft = error is CancellationError && execution.isReleased && source.identity.size > Self.smallCopy
            if !isLeft { part.remove() }
            throw error
        }
        // From here on the copy is in place: a cancel comes too late.
        let (size, remove) = (source.identity.size, upload.removeSource)
        return await Task.detached {
            let removal = remove ? SourceRemoval(problem: try? await BlockingIO.copies.run { source.remove() }) : nil
            return Self.result(size, removal)
        }.value
    }

    private func copy(_ source: SourceFile, to part: PartFile) async throws {
        let size = source.identity.size
        var (offset, synced) = (part.length, part.synced)
        var bucket = TokenBucket()
        execution.progress(offset: offset, total: size)
        if size > Self.smallCopy { try await execution.leave(trace(synced), of: source.identity) }
        while offset < size {
            try Task.checkCancellation()
            let (position, count) = (offset, try await allowance(&bucket, Int(min(Int64(Self.step), size - offset))))
            let copied = try await BlockingIO.copies.run { try step(source, position, count, part) }
            guard copied > 0 else {
                throw SourceFile.changed(upload.file, "while it was copied: it ends after \(offset) bytes now")
            }
            offset += Int64(copied)
            if execution.pace.bytesPerSecond != nil { bucket.take(copied) }
            execution.transferred(copied)
            execution.progress(offset: offset, total: size)
            if offset - synced >= Self.syncStep, offset < size {
                try await BlockingIO.copies.run { try sync(part) }
                synced = offset
                try await execution.leave(trace(synced), of: source.identity)
            }
        }
    }

    /// Bytes of the next step, once the pace lets them go.
    private func allowance(_ bucket: inout TokenBucket, _ most: Int) async throws -> Int {
        while let rate = execution.pace.bytesPerSecond {
            let now = Int64(clinux_monotonic())
            let available = bucket.available(rate: rate, now: now)
            if rate > 0, available >= min(TokenBucket.portion, most) { return min(available, most) }
            execution.waitedForPace()
            let wait = bucket.wait(for: most, rate: rate).map { Duration.nanoseconds($0) } ?? Self.paceStep
            try await Task.sleep(for: min(wait, Self.paceStep))
        }
        return most
    }

    private func trace(_ synced: Int64) -> UploadCheckpoint.Way { .copy(boot: BootID.current, synced: synced) }

    // MARK: Blocking parts

    private func begin(_ source: SourceFile) throws -> PartFile {
        var status = stat()
        if stat(target, &status) == 0 {
            if status.st_mode & S_IFMT == S_IFDIR {
                throw Failure(
                    .final, reason: "\(target) is a directory; end the URL with a slash to put the file into it")
            }
            let existing = SourceIdentity(status)
            if existing.inode == source.identity.inode, existing.device == source.identity.device {
                throw Failure(.final, reason: "\(upload.file) and \(target) are the same file")
            }
        }
        let path = temporaryPath(execution.claim)
        unlink(path)
        if let part = adopt(source, as: path) { return part }
        let descriptor = clinux_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure(SystemError(), "cannot create a file in \(directory)") }
        return PartFile(path: path, descriptor: descriptor)
    }

    /// Takes over what the newest execution before this one has left, and clears away the rest.
    /// - Returns: nil where nothing is left that could be used.
    private func adopt(_ source: SourceFile, as path: String) -> PartFile? {
        let trace = UploadCheckpoint(execution.kept, of: source.identity)?.way
        let earlier = earlierPaths
        let adopted = trace == nil ? nil : earlier.first { rename($0, path) == 0 }
        for path in earlier { unlink(path) }
        guard adopted != nil else { return nil }
        let descriptor = clinux_open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)
        var status = stat()
        guard case .copy(let boot, let synced)? = trace, descriptor >= 0, fstat(descriptor, &status) == 0,
            status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_nlink == 1
        else { return abandon(path, descriptor) }
        let written = min(Int64(status.st_size), source.identity.size)
        let safe = min(max(synced, 0), written)
        let length = boot == BootID.current && !boot.isEmpty ? written : safe
        guard ftruncate(descriptor, off_t(length)) == 0 else { return abandon(path, descriptor) }
        return PartFile(path: path, descriptor: descriptor, length: length, synced: safe)
    }

    /// What executions before this one may have left, the newest first.
    private var earlierPaths: [String] {
        (max(1, execution.claim - 1000)..<max(1, execution.claim)).reversed().map(temporaryPath)
    }

    /// No execution will go on from there.
    private func clearAway() async throws {
        try await BlockingIO.copies.run { for path in earlierPaths { unlink(path) } }
    }

    private func abandon(_ path: String, _ descriptor: CInt) -> PartFile? {
        unlink(path)
        if descriptor >= 0 { close(descriptor) }
        return nil
    }

    private func sync(_ part: PartFile) throws {
        guard fdatasync(part.descriptor) == 0 else { throw failure(SystemError(), "cannot write \(target) to disk") }
    }

    private func step(_ source: SourceFile, _ offset: Int64, _ count: Int, _ part: PartFile) throws -> Int {
        do {
            return try source.copy(count, at: offset, to: part.descriptor)
        } catch {
            throw failure(error, "cannot copy \(upload.file) to \(target)")
        }
    }

    private func finish(_ source: SourceFile, _ part: PartFile) throws {
        try source.requireUnchanged()
        guard fchmod(part.descriptor, source.permissions) == 0, fdatasync(part.descriptor) == 0 else {
            throw failure(SystemError(), "cannot write \(target) to disk")
        }
        guard rename(part.path, target) == 0 else { throw failure(SystemError(), "cannot put \(target) in its place") }
        let parent = clinux_open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        // A drop box may be written to and not read. Then the file itself takes its name along: a sync of it commits what
        // stands in the file system's journal before it.
        if parent < 0, errno == EACCES, fsync(part.descriptor) == 0 { return }
        guard parent >= 0 else { throw failure(SystemError(), "cannot write \(directory) to disk") }
        defer { close(parent) }
        guard fsync(parent) == 0 else { throw failure(SystemError(), "cannot write \(directory) to disk") }
    }

    /// The source may be the only other copy. Asks by the open file, for a reader of the target may have moved it already.
    private func requireWhole(_ source: SourceFile, _ part: PartFile) throws {
        var status = stat()
        guard fstat(part.descriptor, &status) == 0 else { throw failure(SystemError(), "cannot examine \(target)") }
        guard Int64(status.st_size) == source.identity.size else {
            throw Failure(
                .command,
                reason:
                    "\(target) has \(status.st_size) of \(source.identity.size) bytes after the copy; the source is kept"
            )
        }
    }

    /// `.<name>.<id>.<claim>.part`; of a long name only the start, for a name may have 255 bytes.
    private func temporaryPath(_ claim: Int) -> String {
        var start = ""
        for character in name {
            guard start.utf8.count + character.utf8.count <= 150 else { break }
            start.append(character)
        }
        let file = ".\(start).\(execution.id).\(claim).part"
        return directory == "/" ? "/\(file)" : "\(directory)/\(file)"
    }

    private func failure(_ error: SystemError, _ what: String) -> Failure {
        switch error.code {
        case ENOENT, ENOTDIR:
            Failure(.final, reason: "\(what): the directory \(directory) does not exist; create it and retry")
        case EACCES, EPERM, EROFS, EISDIR, ENAMETOOLONG, ELOOP: Failure(.final, reason: "\(what): \(error)")
        default: Failure(.command, reason: "\(what): \(error)")
        }
    }

    // MARK: Result

    /// As for HTTP: the file was moved here by an earlier execution that could not say so. A file that is older than the
    /// command is somebody else's.
    private func confirmDelivery() async throws -> [UInt8]? {
        guard execution.claim > 1, let size = upload.source?.size else { return nil }
        let target = target
        let execution = execution
        let found = try await BlockingIO.copies.run {
            var status = stat()
            guard stat(target, &status) == 0, status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) == size else {
                return false
            }
            let modified = Timestamp(milliseconds: SourceIdentity(status).modified / 1_000_000)
            return execution.mayHaveWritten(at: modified)
        }
        guard found else { return nil }
        execution.progress(offset: size, total: size)
        return Self.result(size, SourceRemoval(problem: nil))
    }

    private static func result(_ size: Int64, _ removal: SourceRemoval?) -> [UInt8] {
        var writer = JSONWriter(capacity: 64)
        writer.beginObject()
        writer.member("bytes", size)
        removal?.write(to: &writer)
        writer.endObject()
        return writer.bytes
    }
}

/// The temporary file that a copy grows in. It closes with its last reference.
private final class PartFile: Sendable {
    let path: String
    let descriptor: CInt
    /// Bytes that an earlier execution has copied.
    let length: Int64
    /// Bytes of those that a loss of power leaves.
    let synced: Int64

    init(path: String, descriptor: CInt, length: Int64 = 0, synced: Int64 = 0) {
        self.path = path
        self.descriptor = descriptor
        self.length = length
        self.synced = synced
    }

    deinit { close(descriptor) }

    /// Deletes the file; one that has been renamed is out of reach.
    func remove() { unlink(path) }
}
