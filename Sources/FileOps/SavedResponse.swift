internal import Commands
internal import Crypto
internal import HTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import Operations
internal import Transfers

/// The file that the body of a response is saved to: “saveTo” of a request. It gets its name when it is whole.
/// Nothing of it is continued, because a request is sent anew.
actor SavedResponse {
    static let defaultMaxBytes: Int64 = 1 << 30
    private static let mode: UInt32 = 0o644

    private let file: DownloadFile
    private let url: ResourceURL
    private let maxBytes: Int64
    private let mode: UInt32
    private let command: CommandID
    private var hash = SHA256()
    private var count: Int64 = 0
    /// Why the file could not be written.
    private var fileError: (any Error)?

    /// - Parameter umask: permissions that the file does not get.
    /// - Throws: ``CommandFailure`` where the file cannot be made.
    init(
        at path: String, of url: ResourceURL, maxBytes: Int64, umask: UInt32, _ execution: CommandExecution
    ) async throws {
        let target = try await CopyTarget.following(path)
        file = try await DownloadFile(at: target, BlockingIO.copies.queue(of: target.path), execution, nil)
        self.url = url
        self.maxBytes = maxBytes
        command = execution.id
        mode = Self.mode & ~umask
    }

    /// Reads the body of a success.
    func read(_ body: ResponseBody) async throws {
        // A redirect or a closed connection may have brought an earlier answer.
        (count, hash) = (0, SHA256())
        do {
            try await file.truncate()
            while let chunks = try await body.next() { try await write(chunks) }
        } catch let error as HTTPError {
            throw error
        } catch {
            fileError = error
        }
    }

    private func write(_ chunks: [ByteBuffer]) async throws {
        var blocks: [DownloadFile.Block] = []
        for chunk in chunks {
            blocks.append(DownloadFile.Block(bytes: chunk, offset: count, isCompared: false))
            count += Int64(chunk.readableBytes)
            chunk.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
        }
        guard count <= maxBytes else {
            throw CommandFailure(
                .final, reason: "\(url.displayText) has more than \(maxBytes) bytes, which “maxBody” permits")
        }
        _ = try await file.apply(blocks)
    }

    /// Gives the file its name.
    /// - Parameter isComplete: whether the whole body has arrived.
    /// - Returns: `{"path": …, "bytes": …, "sha256": …}`.
    /// - Throws: ``CommandFailure``.
    func publish(isComplete: Bool) async throws -> JSONValue {
        if let fileError { throw fileError }
        guard isComplete else {
            throw CommandFailure(.reset, reason: "the body of \(url.displayText) was cut off after \(count) bytes")
        }
        _ = try await file.publish(
            as: file.target,
            DownloadFile.Publication(
                length: count, mode: nil, newMode: mode, modified: nil, replacesTarget: true,
                record: TargetRecord(command, url: url, validators: DownloadValidators())))
        return .object([
            .init("path", .string(file.target.path)), .init("bytes", .integer(count)),
            .init("sha256", .string(Hexadecimal.text(hash.finalize()))),
        ])
    }

    func remove() async { await file.remove() }
}
