internal import CLinux
internal import Commands
internal import Glibc
internal import Work

/// An upload to a `file:` URL: the copy grows under a temporary name beside its destination and takes its place in one step,
/// so that nobody ever sees half a file. Names of temporary files carry the claim, so executions of one command never meet.
struct FileCopy: Sendable {
    let upload: UploadPayload
    let execution: Execution

    /// Bytes copied between two looks at whether the copy is still wanted.
    static let step = 4 << 20

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
        do {
            source = try await BlockingIO.copies.run { try upload.openSource() }
        } catch let missing as MissingSource {
            if let result = try await confirmDelivery() { return result }
            throw missing.failure
        }
        execution.progress(offset: 0, total: source.identity.size)
        let part = try await BlockingIO.copies.run { try begin(source) }
        do {
            try await copy(source, to: part)
            try Task.checkCancellation()
            try await BlockingIO.copies.run { try finish(source, part) }
        } catch {
            part.remove()
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
        var offset: Int64 = 0
        while offset < size {
            try Task.checkCancellation()
            let (position, count) = (offset, Int(min(Int64(Self.step), size - offset)))
            let copied = try await BlockingIO.copies.run { try step(source, position, count, part) }
            guard copied > 0 else {
                throw SourceFile.changed(upload.file, "while it was copied: it ends after \(offset) bytes now")
            }
            offset += Int64(copied)
            execution.transferred(copied)
            execution.progress(offset: offset, total: size)
        }
    }

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
        for claim in max(1, execution.claim - 1000)..<max(1, execution.claim) {
            unlink(temporaryPath(claim: claim))
        }
        let path = temporaryPath(claim: execution.claim)
        unlink(path)
        let descriptor = clinux_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure(SystemError(), "cannot create a file in \(directory)") }
        return PartFile(path: path, descriptor: descriptor)
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
        guard parent >= 0 else { throw failure(SystemError(), "cannot write \(directory) to disk") }
        defer { close(parent) }
        guard fsync(parent) == 0 else { throw failure(SystemError(), "cannot write \(directory) to disk") }
    }

    /// `.<name>.<id>.<claim>.part`; of a long name only the start, for a name may have 255 bytes.
    private func temporaryPath(claim: Int) -> String {
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

    /// As for HTTP: the file was moved here by an earlier execution that could not say so.
    private func confirmDelivery() async throws -> [UInt8]? {
        guard execution.claim > 1, let size = upload.source?.size else { return nil }
        let target = target
        let found = try await BlockingIO.copies.run {
            var status = stat()
            return stat(target, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && Int64(status.st_size) == size
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

    init(path: String, descriptor: CInt) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Deletes the file; one that has been renamed is out of reach.
    func remove() { unlink(path) }
}
