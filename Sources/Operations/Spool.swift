internal import CLinux
package import Commands
internal import Glibc
internal import Work

/// `<data>/spool`: copies of sources that belong to Sluice, so that what happens to the original after submit does not matter.
package struct Spool: Sendable {
    /// 0700; made on first use.
    package let directory: String

    package init(directory: String) { self.directory = directory }

    /// Copies the source of an upload into the spool, durably, and tells the payload that names the copy. Blocks.
    ///
    /// The copy shares the blocks of the original where the file system can do that. The destination is told
    /// the original's name, and `removeSource` is set: a spooled copy goes when it has been delivered.
    /// - Throws: ``PayloadError`` for a payload or source that `upload` would refuse, or ``SpoolError``.
    package func take(_ payload: JSONValue) throws -> JSONValue {
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
        upload.file = try copy(source)
        upload.removeSource = true
        upload.source = nil
        return upload.json
    }

    /// Deletes the copy that a payload names, where it is one of this spool: for a submit that failed after all, or a
    /// command that is pruned.
    package func discard(_ payload: JSONValue) {
        guard let file = payload["file"]?.string, file.hasPrefix(directory + "/"), !file.contains("/../") else {
            return
        }
        unlink(file)
    }

    /// As ``discard(_:)``, of a stored payload.
    package func discard(stored payload: [UInt8]) {
        if let payload = try? JSONValue(parsing: payload) { discard(payload) }
    }

    private func copy(_ source: SourceFile) throws -> String {
        guard mkdir(directory, 0o700) == 0 || errno == EEXIST else {
            throw SpoolError(SystemError(), "create", directory)
        }
        let path = "\(directory)/\(CommandID())"
        let target = clinux_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard target >= 0 else { throw SpoolError(SystemError(), "create", path) }
        defer { close(target) }
        do {
            try fill(target, from: source, path)
        } catch {
            unlink(path)
            throw error
        }
        return path
    }

    private func fill(_ target: CInt, from source: SourceFile, _ path: String) throws {
        if !source.reflink(to: target) {
            var offset: Int64 = 0
            while offset < source.identity.size {
                let count = Int(min(source.identity.size - offset, 64 << 20))
                do {
                    let copied = try source.copy(count, at: offset, to: target)
                    guard copied > 0 else { break }
                    offset += Int64(copied)
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
        let parent = clinux_open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard parent >= 0 else { throw SpoolError(SystemError(), "open", directory) }
        defer { close(parent) }
        guard fsync(parent) == 0 else { throw SpoolError(SystemError(), "write", directory) }
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
