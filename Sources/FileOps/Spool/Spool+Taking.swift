internal import CLinux
package import Commands
internal import Glibc
internal import Host
internal import Operations
internal import S3
package import Store
internal import Transfers

extension Spool {
    /// Copies the source of an upload, or of an `s3`, into the spool. The bytes of the copy are on disk when
    /// this returns; its name is on disk after ``sync()``. Blocks.
    ///
    /// The copy shares the blocks of the original where the file system supports that, and has its holes. The
    /// payload keeps the name of the original (the key and the media type of an object follow from it) and,
    /// for a `file:` destination, its permissions. It sets
    /// `removeSource`, so that the copy is deleted after delivery. Of a source that grows meanwhile, the
    /// bytes that it had when it was opened are copied. A source that does not state its size is read to its
    /// end.
    /// - Parameters:
    ///   - type: ``CommandType/upload`` or ``CommandType/s3``.
    ///   - began: is called with the path of the copy once the copy exists. An error that it throws deletes
    ///     the copy.
    ///   - copied: is called with the number of bytes after each step. A negative number takes back bytes
    ///     that are copied again.
    /// - Returns: the payload that names the copy.
    /// - Throws: ``PayloadError`` for a payload or source that the operation would refuse, or ``SpoolError``.
    package func take(
        _ payload: JSONValue, of type: String = CommandType.upload,
        began: (_ path: String) throws -> Void = { _ in }, copied: (_ bytes: Int64) -> Void = { _ in }
    ) throws -> JSONValue {
        guard type != CommandType.s3 else { return try takeObject(payload, began, copied) }
        var upload = try UploadPayload(payload)
        guard !upload.removeSource else { throw Self.removal(of: upload.file) }
        try upload.resolveFile()
        // The name of the copy is a UUID.
        if upload.path == nil { upload.name = String(upload.fileName) }
        if upload.to.scheme != .file, !upload.headers.contains(where: { $0.isNamed("content-type") }) {
            upload.headers.append(HTTPField("Content-Type", MediaType.of(fileName: upload.fileName)))
        }
        let path = "\(directory)/\(CommandID())"
        let copy = try SpooledCopy(file: upload.file, path: path).make(began: began, copied: copied)
        upload.chooseProtocol(size: copy.size)
        upload.resolveDirectory()
        if upload.to.scheme == .file, upload.mode == nil { upload.mode = copy.permissions & ~umask }
        upload.file = path
        upload.removeSource = true
        upload.source = nil
        return upload.json
    }

    private func takeObject(
        _ payload: JSONValue, _ began: (_ path: String) throws -> Void, _ copied: (_ bytes: Int64) -> Void
    ) throws -> JSONValue {
        var put = try S3Payload(payload)
        guard !put.removeSource else { throw Self.removal(of: put.file) }
        put.file = try put.file.absolutePath()
        try put.resolveKey()
        // A presigned URL takes the signed headers only.
        if case .object = put.target, put.contentType == nil {
            put.contentType = MediaType.of(fileName: put.file.lastPathName)
        }
        let path = "\(directory)/\(CommandID())"
        _ = try SpooledCopy(file: put.file, path: path).make(began: began, copied: copied)
        put.file = path
        put.removeSource = true
        put.source = nil
        return put.json
    }

    private static func removal(of file: String) -> PayloadError {
        PayloadError(.data, "“removeSource” would delete the spooled copy, not \(file); remove one of them")
    }

    /// Moves a copy from another spool of the same file system into this one.
    /// - Returns: the payload that names the copy here.
    /// - Throws: ``SpoolError``.
    package func adopt(_ payload: JSONValue) throws -> JSONValue {
        guard let members = payload.members, let stagedFile = payload["file"]?.string else {
            throw PayloadError(.data, "the payload of a spooled copy has no “file”")
        }
        let file = "\(directory)/\(stagedFile.lastPathName)"
        guard rename(stagedFile, file) == 0 else { throw SpoolError(SystemError(), "create", file) }
        return .object(members.map { $0.name == "file" ? JSONValue.Member("file", .string(file)) : $0 })
    }

    /// Makes the names of the copies durable. Blocks.
    /// - Throws: ``SpoolError``.
    package func sync() throws {
        let descriptor = clinux_open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw SpoolError(SystemError(), "open", directory) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw SpoolError(SystemError(), "write", directory) }
    }
}
