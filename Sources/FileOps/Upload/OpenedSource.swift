internal import Commands
internal import HTTPClient
internal import NIOCore
internal import Transfers

/// An open source, the start of its content and the credential: everything that is read from disk before the
/// upload.
struct OpenedSource: Sendable {
    let source: SourceFile
    let body: HTTPTransfer.Body
    let credential: (name: String, value: String)?

    /// Blocks.
    /// - Parameter directories: those that the source of a confined upload lies beneath.
    init(_ upload: UploadPayload, _ credential: Credential?, beneath directories: [String]) throws {
        source = try upload.openSource(beneath: directories)
        do {
            self.credential = try credential?.header()
        } catch {
            throw CommandFailure(.credential, reason: "no credential for \(upload.to.destination): \(error)")
        }
        let size = source.identity.size
        guard size > 0 else {
            body = .none
            return
        }
        var start = ByteBuffer()
        let count = size <= HTTPTransfer.smallFile ? Int(size) : HTTPTransfer.chunkSizes.lowerBound
        do {
            let source = source
            try start.writeWithUnsafeMutableBytes(minimumWritableBytes: count) {
                try source.read(into: .init(rebasing: $0.prefix(count)), at: 0)
            }
        } catch {
            throw CommandFailure(.command, reason: "the source \(upload.file) cannot be read: \(error)")
        }
        guard start.readableBytes == count else {
            throw SourceFile.changed(upload.file, "while it was read: it ends after \(start.readableBytes) bytes now")
        }
        if Int64(count) == size {
            try source.requireUnchanged()
            body = .whole(start)
        } else {
            source.willReadFromStartToEnd()
            body = .file(source, start: start)
        }
    }
}

extension UploadPayload {
    /// Opens the source and compares it with its state at submit. Blocks.
    /// - Parameter directories: those that the source of a confined upload lies beneath.
    /// - Throws: a ``CommandFailure``, final where the source has changed; or ``MissingSource``.
    func openSource(beneath directories: [String]) throws -> SourceFile {
        do throws(CommandFailure) {
            return try SourceFile(unchanged: file, source, beneath: isConfined ? directories : nil)
        } catch {
            if removeSource, error.fault == .final { throw MissingSource(failure: error) }
            throw error
        }
    }

    /// Records the permissions of a copy to a `file:` URL if they differ from the source's: as with cp, those
    /// in `umask` are removed.
    mutating func recordMode(of source: SourceFile, umask: UInt32) {
        guard to.scheme == .file, mode == nil, source.permissions & umask != 0 else { return }
        mode = source.permissions & ~umask
    }
}

/// The source does not exist, and its removal was requested: an earlier execution may have deleted it.
struct MissingSource: Error {
    let failure: CommandFailure
}
