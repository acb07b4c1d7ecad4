internal import Commands
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Store
internal import Uploads

extension UploadsResource {
    typealias Receive = @Sendable (any UploadReceiver) async throws -> Void

    /// Lets the engine take the bytes of a request.
    /// - Parameter progress: called with each offset that becomes durable meanwhile. It must not block.
    /// - Throws: ``UploadError``, or the problem that `receive` threw.
    func append(
        _ append: UploadAppend, to id: CommandID, failure: ReceiveFailure = ReceiveFailure(),
        progress: @escaping @Sendable (Int64) -> Void = { _ in }, _ receive: @escaping Receive
    ) async throws -> Upload {
        do {
            return try await service.append(append, to: id, progress: progress) { receiver in
                do { try await receive(receiver) } catch {
                    failure.record(error)
                    throw error
                }
            }
        } catch {
            // The engine knows only that the body was cut.
            guard error.code == .interrupted else { throw error }
            if let problem = failure.problem { throw problem }
            guard failure.isSlow, let offset = error.offset else { throw error }
            throw UploadError(
                .interrupted, "\(Self.slowBody); \(offset) bytes are kept. Go on from there.", offset: offset)
        }
    }

    /// An upload that a request has created, or an earlier one with its idempotency key: that one may still run, on a
    /// connection that is dead, and is stopped.
    func repeated(_ upload: Upload, _ key: IdempotencyKey?) async throws(UploadError) -> Upload {
        upload.state == .open && key != nil ? try await service.upload(upload.id) : upload
    }

    /// Takes the bytes of a request that creates an upload. The same request again, by its idempotency key, goes on where
    /// the first one was cut.
    /// - Parameter take: gets the rest of the request, and the number of bytes at its start that are durable.
    func takeRest(
        _ append: UploadAppend, of upload: Upload, _ take: (UploadAppend, _ skipped: Int64) async throws -> Upload
    ) async throws -> Upload {
        guard upload.offset > 0 else { return try await take(append, 0) }
        // The checksum is of all bytes of the request: its offset has not moved before they were verified.
        guard append.checksum == nil, !append.hasTrailingChecksum else { return upload }
        var rest = append
        rest.offset = upload.offset
        rest.size = append.size.map { max(0, $0 - upload.offset) }
        return try await take(rest, upload.offset)
    }

    /// Takes an upload in one request, which its client cannot resume. With an idempotency key the same request again
    /// goes on where the first one was cut; without one its bytes are deleted.
    /// - Parameters:
    ///   - size: bytes of the request; nil while they are not known.
    ///   - receive: sends the bytes of the request, except for those at the start that are durable.
    func takeWhole(
        _ facts: UploadFacts, size: Int64?, key: IdempotencyKey?,
        _ receive: @escaping @Sendable (_ durable: Int64, any UploadReceiver) async throws -> Void
    ) async throws -> Upload {
        if let size, size <= service.limits.maxRowSize {
            let collected = SmallBody(size: Int(size))
            try await receive(0, collected)
            return try await service.store(facts, collected.whole(), key: key)
        }
        let upload = try await repeated(service.create(facts, length: size, key: key), key)
        switch upload.state {
        case .complete: return upload
        case .ended: throw UploadError(.gone, upload.reason ?? "The upload with this idempotency key has ended.")
        case .open: break
        }
        let durable = upload.offset
        let request = UploadAppend(offset: durable, size: size.map { max(0, $0 - durable) }, completion: .atEnd)
        let failure = ReceiveFailure()
        do {
            return try await append(request, to: upload.id, failure: failure) { try await receive(durable, $0) }
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

    /// Sends the body of a request to the engine, except for some bytes at its start.
    static func send(_ body: RequestBody, skipping count: Int64 = 0, to receiver: any UploadReceiver) async throws {
        var skipped = count
        for try await var buffer in body {
            let step = Int(min(skipped, Int64(buffer.readableBytes)))
            buffer.moveReaderIndex(forwardBy: step)
            skipped -= Int64(step)
            guard buffer.readableBytes > 0 else { continue }
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
