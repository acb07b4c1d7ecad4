internal import CLinux
package import Commands
internal import Glibc
internal import Host
internal import Work

/// `<data>/spool`: copies of sources that belong to Sluice, so that what happens to the original after submit does not matter.
package struct Spool: Sendable {
    /// 0700, and there.
    package let directory: String
    /// Permissions that a copy to a `file:` URL does not get: those of the process that submits.
    package let umask: UInt32

    package init(directory: String, umask: UInt32 = 0) {
        self.directory = directory
        self.umask = umask
    }

    /// Copies the source of an upload into the spool and tells the payload that names the copy, whose bytes are on disk then;
    /// its name is after ``sync()``. Blocks.
    ///
    /// The copy shares the blocks of the original where the file system can do that, and has its holes. The destination is
    /// told the original's name, and a `file:` destination its permissions; `removeSource` is set: a spooled copy goes when it
    /// has been delivered. A source that only grows meanwhile is taken up to the size that it had when it was opened; one that
    /// does not state its size is read to its end.
    /// - Parameters:
    ///   - began: called with the path of the copy as soon as it is there; what it throws ends the copy and deletes it.
    ///   - copied: called with the number of bytes after each step; a negative one takes back what is copied anew.
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
        let path = "\(directory)/\(CommandID())"
        let copy = try SpooledCopy(file: upload.file, path: path).make(began: began, copied: copied)
        upload.settle(size: copy.size)
        upload.resolveDirectory()
        if upload.to.scheme == .file, upload.mode == nil { upload.mode = copy.permissions & ~umask }
        upload.file = path
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
        upload.file = "\(directory)/\(theirs.lastPathName)"
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
        guard CommandID(file.lastPathName) != nil else { return }
        let parent = file.parentPath
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
}
