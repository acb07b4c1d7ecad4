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
