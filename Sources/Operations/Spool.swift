internal import CLinux
package import Commands
internal import Glibc
internal import Work

/// `<data>/spool`: copies of sources that belong to Sluice, so that what happens to the original after submit does not matter.
package struct Spool: Sendable {
    /// 0700, and there.
    package let directory: String

    /// Bytes copied between two reports.
    private static let step: Int64 = 4 << 20

    package init(directory: String) { self.directory = directory }

    /// Copies the source of an upload into the spool and tells the payload that names the copy, whose bytes are on disk then;
    /// its name is after ``sync()``. Blocks.
    ///
    /// The copy shares the blocks of the original where the file system can do that. The destination is told
    /// the original's name, and `removeSource` is set: a spooled copy goes when it has been delivered.
    /// - Parameters:
    ///   - began: called with the path of the copy as soon as it is there; what it throws ends the copy and deletes it.
    ///   - copied: called with the number of bytes after each step.
    /// - Throws: ``PayloadError`` for a payload or source that `upload` would refuse, or ``SpoolError``.
    package func take(
        _ payload: JSONValue, began: (_ path: String) throws -> Void = { _ in },
        copied: (_ bytes: Int64) -> Void = { _ in }
    ) throws -> JSONValue {
        var upload = try UploadPayload(payload)
        guard !upload.removeSource else {
            throw PayloadError(
                .data, "“removeSource” would delete the spooled copy, not \(upload.file); leave one of both out")
        }
        try upload.resolveFile()
        upload.name = String(upload.fileName)
        if upload.to.scheme != .file, !upload.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
            upload.headers.append(.init(name: "Content-Type", value: MediaType.of(fileName: upload.fileName)))
        }
        let source = try SourceFile(path: upload.file)
        upload.settle(size: source.identity.size)
        upload.resolveDirectory()
        upload.file = try copy(source, began, copied)
        upload.removeSource = true
        upload.source = nil
        return upload.json
    }

    /// Moves a copy that another spool of the same file system has taken into this one.
    /// - Returns: the payload that names it here.
    /// - Throws: ``SpoolError``.
    package func adopt(_ payload: JSONValue) throws -> JSONValue {
        var upload = try UploadPayload(payload)
        let theirs = upload.file
        upload.file = "\(directory)/\(theirs.split(separator: "/").last ?? "")"
        guard rename(theirs, upload.file) == 0 else { throw SpoolError(SystemError(), "create", upload.file) }
        return upload.json
    }

    /// Makes the names of the copies durable. Blocks.
    /// - Throws: ``SpoolError``.
    package func sync() throws {
        let descriptor = clinux_open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw SpoolError(SystemError(), "open", directory) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw SpoolError(SystemError(), "write", directory) }
    }

    /// Deletes the copy that a payload names, where it is one of this spool: for a submit that failed after all, or a
    /// command that is pruned.
    package func discard(_ payload: JSONValue) {
        if let file = payload["file"]?.string { discard(file: file) }
    }

    /// Deletes a file of this spool, and no other. The directory may be spelled in any way: relative, through a link, or
    /// with a slash at its end.
    package func discard(file: String) {
        // Anything that is not named as a copy is left alone unseen: it may lie on a file system that does not answer.
        guard let slash = file.lastIndex(of: "/"), CommandID(file[file.index(after: slash)...]) != nil else { return }
        let parent = slash == file.startIndex ? "/" : String(file[..<slash])
        var theirs = stat()
        var ours = stat()
        guard stat(parent, &theirs) == 0, stat(directory, &ours) == 0, theirs.st_dev == ours.st_dev,
            theirs.st_ino == ours.st_ino
        else { return }
        unlink(file)
    }

    /// As ``discard(_:)``, of a stored payload.
    package func discard(stored payload: [UInt8]) {
        if let payload = try? JSONValue(parsing: payload) { discard(payload) }
    }

    private func copy(
        _ source: SourceFile, _ began: (String) throws -> Void, _ copied: (Int64) -> Void
    ) throws -> String {
        let path = "\(directory)/\(CommandID())"
        let target = clinux_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard target >= 0 else { throw SpoolError(SystemError(), "create", path) }
        defer { close(target) }
        do {
            try began(path)
            try fill(target, from: source, path, copied)
        } catch {
            unlink(path)
            throw error
        }
        return path
    }

    private func fill(
        _ target: CInt, from source: SourceFile, _ path: String, _ copied: (Int64) -> Void
    ) throws {
        if source.reflink(to: target) {
            copied(source.identity.size)
        } else {
            var offset: Int64 = 0
            while offset < source.identity.size {
                let count = Int(min(source.identity.size - offset, Self.step))
                do {
                    let done = Int64(try source.copy(count, at: offset, to: target))
                    guard done > 0 else { break }
                    offset += done
                    copied(done)
                } catch {
                    throw SpoolError(error, "write", path)
                }
            }
        }
        do {
            try source.requireUnchanged()
        } catch {
            throw PayloadError(.source, error.reason)
        }
        guard fsync(target) == 0 else { throw SpoolError(SystemError(), "write", path) }
    }
}

/// The spool cannot be used (exit code 73 where it cannot be created, 74 where it cannot be written).
package struct SpoolError: Error, Equatable, CustomStringConvertible {
    /// Whether a file or directory could not be created, rather than written.
    package let isCreation: Bool
    package let description: String

    init(_ error: SystemError, _ verb: String, _ path: String) {
        isCreation = verb == "create" && error.code != ENOSPC && error.code != EDQUOT
        description = "cannot \(verb) \(path): \(error); make room or check its permissions"
    }
}
