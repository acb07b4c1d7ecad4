package import Commands
internal import Host
internal import Logging
internal import Store
internal import Synchronization
internal import UploadSpool

extension UploadEngine {
    package func append(
        _ request: UploadAppend, to id: CommandID, admits: @Sendable (Upload) -> Bool = { _ in true },
        progress: @escaping @Sendable (Int64) -> Void = { _ in },
        _ receive: @escaping @Sendable (any UploadReceiver) async throws -> Void
    ) async throws(UploadError) -> Upload {
        let signal = StopSignal()
        let number: Int
        if let free = await turns.beginIfFree(id, stop: { signal.stop() }) {
            number = free
        } else {
            // A request that may not go on stops no other one.
            let upload = try await loadLiving(id)
            guard admits(upload) else { return upload }
            number = await turns.begin(id) { signal.stop() }
        }
        let result: Result<Upload, UploadError>
        do throws(UploadError) {
            let upload = try await loadLiving(id)
            result = .success(
                admits(upload) ? try await count(request, upload, signal, progress, receive) : upload)
        } catch {
            result = .failure(error)
        }
        await turns.end(id, number)
        return try result.get()
    }

    /// Takes the bytes of a request that has the turn, and counts it.
    /// - Parameter upload: as the store has it now.
    private func count(
        _ request: UploadAppend, _ upload: Upload, _ signal: StopSignal,
        _ progress: @escaping @Sendable (Int64) -> Void,
        _ receive: @escaping @Sendable (any UploadReceiver) async throws -> Void
    ) async throws(UploadError) -> Upload {
        appendBegan()
        defer { appendEnded() }
        do throws(UploadError) {
            return try await take(request, upload, signal, progress, receive)
        } catch {
            statistics.failed(error)
            if let cause = error.cause { warn(cause) }
            throw error
        }
    }

    private func take(
        _ request: UploadAppend, _ upload: Upload, _ signal: StopSignal,
        _ progress: @escaping @Sendable (Int64) -> Void,
        _ receive: @escaping @Sendable (any UploadReceiver) async throws -> Void
    ) async throws(UploadError) -> Upload {
        let id = upload.id
        switch try request.continuation(of: upload) {
        case .answered: return upload
        case .complete(let sha256): return try await compare(upload, sha256, request, signal, receive)
        case .open: break
        }
        let length = upload.length ?? request.statedLength
        let limit = min(length ?? .max, maxSize(upload.facts))
        try request.check(upload, length: length, limit: limit)
        // Known only now: the creation was not refused for it.
        if let length, upload.length == nil { try await checkRoom(for: length, of: upload) }
        let file = try await openFile(of: upload)
        let checkpoints = UploadCheckpoints(
            self, file, upload: upload, length: request.statedLength, progress: progress)
        let receiver = FileReceiver(
            file, on: disk, of: upload, start: request.offset, limit: limit,
            algorithms: algorithms(request, upload), checksum: request.checksum,
            partSize: { [self] in partSize() },
            reserve: { [self] end throws(UploadError) in try await reserve(id, file, to: end, limit: limit) },
            written: { [statistics] bytes in
                statistics.received(upload, bytes: Int64(bytes.count))
                if !request.isVerified { checkpoints.written(bytes.upperBound) }
            })

        let failure = await run(receive, receiver, signal)
        do throws(UploadError) {
            try await receiver.finish()
            try await checkpoints.finish()
        } catch {
            try? await checkpoints.finish()
            // Bytes up to the last checkpoint are durable.
            var error = error
            error.offset = checkpoints.durable
            throw error
        }
        let received = receiver.end - request.offset
        let isCut = failure != nil || signal.isStopped || request.size.map { $0 != received } ?? false
        if receiver.isTooLong, request.isRepeat, upload.offset > 0, let length = upload.length {
            throw .keyConflict(upload, "has \(length) bytes")
        }
        if receiver.isTooLong { return try await refuseLength(upload, file, limit: limit, checkpoints.durable) }
        if let refusal = failure as? UploadError {
            throw UploadError(refusal.code, refusal.message, offset: checkpoints.durable)
        }

        if request.isVerified {
            // A part of the bytes cannot be verified.
            let isRight = isCut ? false : try await receiver.hasChecksum()
            guard isRight else {
                try await onDisk { () throws(SystemError) in try file.truncate(to: upload.offset) }
                if isCut { throw Self.interrupted(id, at: upload.offset, signal) }
                throw UploadError(
                    .checksumMismatch, "The bytes do not have the stated checksum, and were dropped; send them again.",
                    offset: upload.offset)
            }
        }
        if receiver.end < upload.offset, !isCut, request.completion == .atEnd {
            throw .keyConflict(upload, "has more bytes")
        }
        // A repeat may end before its first new byte.
        let end = max(receiver.end, upload.offset)
        try await makeDurable(file, isFirst: upload.offset == 0)
        statistics.becameDurable(upload, bytes: end - checkpoints.durable)
        let isWhole =
            switch request.completion {
            case .atLength: length == end
            case .atEnd: !isCut
            case .later: false
            }
        if isWhole, !isCut || request.completion == .atLength {
            do throws(UploadError) {
                return try await complete(
                    upload, file, length: end, receiver.end == end ? receiver.digests : [], request.digest)
            } catch {
                guard error.code == .unavailable else { throw error }
                throw await keep(upload, error, at: end)
            }
        }
        // Only bytes keep an upload from expiring: a client could hold its room by empty requests otherwise.
        let due = end > upload.offset ? limits.expiry(of: upload, at: end, now: store.clock.now()) : upload.due
        let change = try await commit(
            .advance(id, offset: end, length: request.statedLength, due: due), offset: checkpoints.durable)
        let now = try Self.upload(id, after: change)
        if isCut { throw Self.interrupted(id, at: now.offset, signal) }
        return now
    }

    /// Keeps the bytes of an upload that cannot be completed now: its client repeats the end of the last request only.
    private func keep(_ upload: Upload, _ error: UploadError, at end: Int64) async -> UploadError {
        let due = end > upload.offset ? limits.expiry(of: upload, at: end, now: store.clock.now()) : upload.due
        let change = try? await commit(.advance(upload.id, offset: end, length: end, due: due))
        var error = error
        error.offset = change?.upload?.offset ?? upload.offset
        return error
    }

    /// Compares a request with a complete upload.
    private func compare(
        _ upload: Upload, _ sha256: [UInt8], _ request: UploadAppend, _ signal: StopSignal,
        _ receive: @escaping @Sendable (any UploadReceiver) async throws -> Void
    ) async throws(UploadError) -> Upload {
        let comparison = ContentComparison(upload, sha256: sha256)
        let failure = await run(receive, comparison, signal)
        if let refusal = failure as? UploadError { throw refusal }
        let isShort = request.size.map { $0 != comparison.count } ?? false
        try comparison.finish(isCut: failure != nil || signal.isStopped || isShort)
        return upload
    }

    /// Reads a request, until its end or until `signal` stops it.
    /// - Returns: the error that has ended it.
    private func run(
        _ receive: @escaping @Sendable (any UploadReceiver) async throws -> Void,
        _ receiver: some UploadReceiver & Sendable, _ signal: StopSignal
    ) async -> (any Error)? {
        let task = Task { try await receive(receiver) }
        signal.whenStopped { task.cancel() }
        return await withTaskCancellationHandler {
            await task.result.failure
        } onCancel: {
            task.cancel()
        }
    }

    /// The digests that are computed while the bytes come, because their completion needs them. Uploads without an
    /// idempotency key are hashed only where a digest was stated, or where the route uses it.
    private func algorithms(_ request: UploadAppend, _ upload: Upload) -> Set<UploadDigest.Algorithm> {
        var found = Set([request.checksum?.algorithm].compactMap(\.self))
        let isWhole = request.size.flatMap { size in upload.length.map { size == $0 } } ?? true
        guard request.offset == 0, isWhole else { return found }
        if upload.idempotencyKey != nil || rules.needsDigest(upload.facts) { found.insert(.sha256) }
        for digest in [upload.facts.digest, request.digest].compactMap(\.self) { found.insert(digest.algorithm) }
        return found
    }

    /// - Throws: `gone` where another process has ended the upload meanwhile, as `sluice uploads remove` does.
    private static func upload(_ id: CommandID, after change: UploadChange) throws(UploadError) -> Upload {
        guard let upload = change.upload else { throw .notFound(id) }
        guard change.isApplied || upload.state != .ended else { throw .ended(upload) }
        return upload
    }

    private static func interrupted(_ id: CommandID, at offset: Int64, _ signal: StopSignal) -> UploadError {
        let message =
            signal.isStopped
            ? "Another request for upload \(id) stopped this one at byte \(offset); ask for the offset before you go on."
            : "The request was cut; \(offset) bytes are kept. Go on from there."
        return UploadError(.interrupted, message, offset: offset)
    }

    /// The upload keeps the bytes that it had before the request.
    private func refuseLength(
        _ upload: Upload, _ file: SpoolFile, limit: Int64, _ durable: Int64
    ) async throws(UploadError) -> Upload {
        try await onDisk { () throws(SystemError) in try file.truncate(to: durable) }
        throw UploadError(
            .tooLarge(limit: limit), "Upload \(upload.id) has \(limit) bytes, and the request brings more.",
            offset: durable)
    }

    func makeDurable(_ file: SpoolFile, isFirst: Bool) async throws(UploadError) {
        try await onDisk { [spool, statistics] () throws(SystemError) in
            let start = MonotonicTime.now
            try file.sync()
            if isFirst { try spool.sync() }
            statistics.synced(since: start)
        }
    }

    // MARK: Completion

    /// Completes an upload whose bytes are durable.
    /// - Parameters:
    ///   - digests: of all bytes, where they were computed while the bytes came.
    ///   - stated: the digest of all bytes that the last request states.
    func complete(
        _ upload: Upload, _ file: SpoolFile, length: Int64, _ digests: [UploadDigest] = [],
        _ stated: UploadDigest? = nil
    ) async throws(UploadError) -> Upload {
        let id = upload.id
        for stated in [upload.facts.digest, stated].compactMap(\.self) {
            guard try await digest(of: file, length, stated.algorithm, known: digests) == stated else {
                try await end(id, reason: "its bytes do not have the stated digest")
                throw UploadError(
                    .digestMismatch, "The bytes do not have the stated digest, and were dropped; send the file again.")
            }
        }
        let needsSHA256 = upload.idempotencyKey != nil || !upload.isPartial && rules.needsDigest(upload.facts)
        let sha256 = needsSHA256 ? try await digest(of: file, length, .sha256, known: digests)?.bytes : nil
        try await onDisk { () throws(SystemError) in
            // Of an attempt that was cut after it had written more.
            guard try file.size != length else { return }
            try file.truncate(to: length)
            try file.sync()
        }
        var whole = upload
        (whole.offset, whole.length, whole.state) = (length, length, .complete)
        let submission: UploadSubmission?
        do throws(UploadError) {
            submission = try await self.submission(of: whole, sha256: sha256)
        } catch {
            throw error.code == .invalid ? error.keepingBytes(of: upload) : error
        }
        let due =
            if whole.isPartial { store.clock.now() + limits.maxAge } else if submission == nil {
                nil as Timestamp?
            } else {
                store.clock.now() + Self.firstLook
            }
        let change: UploadChange
        do throws(StoreError) {
            change = try await committer.commit(.complete(id, length: length, submission, due: due, sha256: sha256))
        } catch {
            let error = failure(error, offset: upload.offset)
            switch error.code {
            case .invalid: throw error.keepingBytes(of: upload)
            // The command was submitted since the creation, with other bytes.
            case .keyConflict, .uniqueKeyTaken: throw await refuse(id, error)
            default: throw error
            }
        }
        let now = try Self.upload(id, after: change)
        space.withLock { $0.settle(id, size: length) }
        statistics.completed(now, submission, at: store.clock.now())
        logCompletion(of: now)
        if let command = now.command, command != id {
            // Another command holds the unique key: its bytes are those of the upload that made it.
            await dropBytes(of: now)
        }
        return now
    }

    /// - Returns: one of `known`, else that of the file.
    private func digest(
        of file: SpoolFile, _ length: Int64, _ algorithm: UploadDigest.Algorithm, known: [UploadDigest]
    ) async throws(UploadError) -> UploadDigest? {
        if let found = known.first(where: { $0.algorithm == algorithm }) { return found }
        return try await disk.digest(of: file, 0..<length, algorithm).mapError { UploadError($0) }.get()
    }

    /// The command that a complete upload becomes.
    /// - Parameter sha256: of its bytes, where the route needs it.
    func submission(of upload: Upload, sha256: [UInt8]?) async throws(UploadError) -> UploadSubmission? {
        if upload.isPartial { return nil }
        let path = spool.file(of: upload.id)
        return try await disk.run { [rules] () throws(UploadError) in
            try rules.submission(for: upload, file: path, sha256: sha256)
        }
    }

    /// Ends an upload that cannot become a command.
    private func refuse(_ id: CommandID, _ error: UploadError) async -> UploadError {
        do throws(UploadError) { try await end(id, reason: error.message) } catch {
            logger.warning("Upload \(id) cannot be ended: \(error)")
        }
        return error
    }

    /// The time from the completion to the first look whether the bytes are still needed.
    static let firstLook: Duration = .seconds(10)
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
