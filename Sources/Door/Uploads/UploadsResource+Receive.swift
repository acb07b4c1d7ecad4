internal import Commands
internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
internal import Store
internal import Synchronization
internal import UploadSpool
internal import Uploads

extension UploadsResource {
    typealias Receive = @Sendable (any UploadReceiver) async throws -> Void

    /// Lets the engine take the bytes of a request.
    /// - Parameters:
    ///   - check: of a request that did not create the upload.
    ///   - progress: called with each offset that becomes durable meanwhile. It must not block.
    /// - Throws: ``UploadError``, the error of the check, or the problem that `receive` threw.
    func append(
        _ append: UploadAppend, to id: CommandID, checking check: AppendCheck? = nil,
        failure: ReceiveFailure = ReceiveFailure(), progress: @escaping @Sendable (Int64) -> Void = { _ in },
        _ receive: @escaping Receive
    ) async throws -> Upload {
        let upload: Upload
        let admits = { @Sendable upload in check?.admits(upload) ?? true }
        do {
            upload = try await service.append(append, to: id, admits: admits, progress: progress) { receiver in
                do { try await receive(receiver) } catch {
                    failure.record(error)
                    throw error
                }
            }
        } catch {
            if check != nil, error.code == .notFound { throw UploadProblems.notFound("\(id)") }
            // The engine knows only that the body was cut.
            guard error.code == .interrupted else { throw error }
            if let problem = failure.problem { throw problem }
            guard failure.isSlow, let offset = error.offset else { throw error }
            throw UploadError(
                .interrupted, "\(Self.slowBody); \(offset) bytes are kept. Go on from there.", offset: offset)
        }
        try check?.get()
        return upload
    }

    /// An upload that a request has created, or an earlier one with its idempotency key: that one may still run, on a
    /// connection that is dead, and is stopped.
    func repeated(_ upload: Upload, _ key: IdempotencyKey?) async throws(UploadError) -> Upload {
        upload.state == .open && key != nil ? try await service.upload(upload.id) : upload
    }

    /// Takes an upload in one request, which its client cannot resume. With an idempotency key the same request again
    /// goes on where the first one was cut; without one its bytes are deleted.
    /// - Parameters:
    ///   - size: bytes of the request; nil while they are not known.
    ///   - receive: sends the bytes of the request.
    func takeWhole(
        _ facts: UploadFacts, size: Int64?, key: IdempotencyKey?,
        _ receive: @escaping Receive
    ) async throws -> Upload {
        if let size, size <= service.limits.maxRowSize {
            let collected = SmallBody(size: Int(size))
            try await receive(collected)
            return try await service.store(facts, collected.whole(), key: key)
        }
        let upload = try await service.create(facts, length: size, key: key)
        var request = UploadAppend(offset: 0, size: size, completion: .atEnd)
        request.isRepeat = key != nil
        let failure = ReceiveFailure()
        do {
            return try await append(request, to: upload.id, failure: failure, receive)
        } catch {
            // The upload expires where it cannot be terminated now.
            if key == nil { try? await service.terminate(upload.id) }
            guard let error = error as? UploadError, error.code == .interrupted else { throw error }
            throw Self.interrupted(failure, hasKey: key != nil)
        }
    }

    private static let slowBody = "The body of the request arrived below the minimum rate of the server"

    private static func interrupted(_ failure: ReceiveFailure, hasKey: Bool) -> Problem {
        let rest = hasKey ? "send it again with the same Idempotency-Key" : "its bytes were dropped; send it again"
        if failure.isSlow { return Problem(.requestTimeout, "slow-body", "\(slowBody); \(rest).") }
        // The door has stopped the request, and its client may still be there.
        return failure.isCancellation
            ? Problem(
                .serviceUnavailable, "upload-interrupted", "The server stopped the request; \(rest).",
                fields: [.retryAfter: UploadProblems.retryAfter])
            : Problem(.badRequest, "upload-interrupted", "The request was cut; \(rest).")
    }

    /// Sends the body of a request to the engine.
    static func send(_ body: RequestBody, to receiver: any UploadReceiver) async throws {
        for try await buffer in body where buffer.readableBytes > 0 {
            buffer.withUnsafeReadableBytes { receiver.add($0) }
            try await receiver.flush()
        }
    }

    /// Whether a request has no bytes. Reads the body of one that does not announce them.
    static func isEmpty(_ request: DoorRequest, size: Int64?) async throws -> Bool {
        if let size { return size == 0 }
        for try await buffer in request.body where buffer.readableBytes > 0 { return false }
        return true
    }

}

/// Gathers the body of a request that announces few bytes.
final class SmallBody: UploadReceiver {
    private let size: Int
    private var bytes: [UInt8] = []

    /// - Parameter size: as the request announces it.
    init(size: Int) {
        self.size = size
        bytes.reserveCapacity(size)
    }

    func add(_ more: UnsafeRawBufferPointer) { bytes.append(contentsOf: more) }

    func flush() async throws(UploadError) {
        if bytes.count > size {
            throw UploadError(.inconsistentLength, "The request has more bytes than it announces.")
        }
    }

    func setChecksum(_ checksum: UploadDigest) {}

    /// - Throws: `interrupted` where the request was cut: over HTTP/2 that may look like its end.
    func whole() throws(UploadError) -> [UInt8] {
        guard bytes.count == size else {
            throw UploadError(.interrupted, "The request was cut; send it again.", offset: 0)
        }
        return bytes
    }
}

/// Checks the upload of a PATCH when the engine has read it: a row is read once, and a request that may not send bytes stops
/// no other one.
final class AppendCheck: Sendable {
    private struct Outcome {
        var upload: Upload?
        var error: (any Error)?
    }

    private let check: @Sendable (Upload) throws -> Void
    private let outcome = Mutex(Outcome())

    init(_ check: @escaping @Sendable (Upload) throws -> Void) { self.check = check }

    /// The upload before the request; nil before the check.
    var upload: Upload? { outcome.withLock(\.upload) }

    /// For ``UploadService/append(_:to:admits:progress:_:)``.
    /// - Returns: false where the check throws, and for a complete upload, whose protocol has an answer of its own.
    func admits(_ upload: Upload) -> Bool {
        let result = Result { try check(upload) }
        outcome.withLock { outcome in
            outcome.upload = upload
            if case .failure(let error) = result { outcome.error = error }
        }
        if case .failure = result { return false }
        return upload.state != .complete
    }

    /// - Throws: the error of the check.
    func get() throws { if let error = outcome.withLock(\.error) { throw error } }
}

/// The error that ended the reading of a request in a task of the upload engine.
final class ReceiveFailure: Sendable {
    private let error = Mutex<(any Error)?>(nil)

    func record(_ error: any Error) { self.error.withLock { $0 = error } }

    /// Whether the reading was stopped from this side.
    var isCancellation: Bool { error.withLock { $0 is CancellationError } }
    /// Whether the body came below the minimum rate.
    var isSlow: Bool { error.withLock { $0 as? ConnectionError == .slowBody } }
    /// Nil where the reading did not end by a problem of the request.
    var problem: Problem? {
        error.withLock { error in
            switch error {
            case let problem as Problem: problem
            case let error as HTTPParserError: .malformed(error)
            default: nil
            }
        }
    }
}
