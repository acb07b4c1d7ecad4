package import Commands
internal import Host
internal import Logging
package import Store
internal import Synchronization

extension UploadEngine {
    package func append(
        _ request: UploadAppend, to id: CommandID, progress: @escaping @Sendable (Int64) -> Void = { _ in },
        _ receive: @escaping @Sendable (any UploadReceiver) async throws -> Void
    ) async throws(UploadError) -> Upload {
        let signal = StopSignal()
        let number = await turns.begin(id) { signal.stop() }
        appendBegan()
        let result: Result<Upload, UploadError>
        do throws(UploadError) {
            result = .success(try await take(request, id, signal, progress, receive))
        } catch {
            result = .failure(error)
            statistics.failed(error)
            if let cause = error.cause { warn(cause) }
        }
        appendEnded()
        await turns.end(id, number)
        return try result.get()
    }

    private func take(
        _ request: UploadAppend, _ id: CommandID, _ signal: StopSignal, _ progress: @escaping @Sendable (Int64) -> Void,
        _ receive: @escaping @Sendable (any UploadReceiver) async throws -> Void
    ) async throws(UploadError) -> Upload {
        let upload = try await load(id)
        if let done = try request.answer(for: upload) { return done }
        if case .final? = upload.facts.concatenation { throw .isFinal(upload) }
        let length = upload.length ?? request.statedLength
        let limit = min(length ?? .max, maxSize(upload.facts))
        try request.check(upload, length: length, limit: limit)
        // Known only now: the creation has promised room for a step.
        if let length, upload.length == nil { try await reserve(id, length...length) }
        let file = try await openFile(of: upload)
        let checkpoints = UploadCheckpoints(
            self, file, upload: upload, length: request.statedLength, progress: progress)
        let receiver = FileReceiver(
            file, on: disk, start: upload.offset, limit: limit, checksum: request.checksum,
            partSize: { [self] in partSize() },
            reserve: { [self] end throws(UploadError) in
                guard length == nil else { return }
                try await reserveStep(id, from: end, limit: limit)
            },
            written: { [statistics] bytes in
                statistics.received(upload, bytes: Int64(bytes.count))
                if !request.isVerified { checkpoints.written(bytes.upperBound) }
            })

        let task = Task { try await receive(receiver) }
        signal.whenStopped { task.cancel() }
        let failure = await withTaskCancellationHandler {
            await task.result.failure
        } onCancel: {
            task.cancel()
        }
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
        let received = receiver.end - upload.offset
        let isCut = failure != nil || signal.isStopped || request.size.map { $0 != received } ?? false
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
        try await makeDurable(file, isFirst: upload.offset == 0)
        let end = receiver.end
        statistics.becameDurable(upload, bytes: end - checkpoints.durable)
        let isWhole =
            switch request.completion {
            case .atLength: length == end
            case .atEnd: !isCut
            case .later: false
            }
        if isWhole, !isCut || request.completion == .atLength {
            return try await complete(upload, file, length: end)
        }
        // Only bytes keep an upload from expiring: a client could hold its room by empty requests otherwise.
        let due = end > upload.offset ? limits.expiry(of: upload, at: end, now: clock()) : upload.due
        let change = try await commit(
            .advance(id, offset: end, length: request.statedLength, due: due), offset: checkpoints.durable)
        let now = try Self.upload(id, after: change)
        if isCut { throw Self.interrupted(id, at: now.offset, signal) }
        return now
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
    func complete(_ upload: Upload, _ file: SpoolFile, length: Int64) async throws(UploadError) -> Upload {
        let id = upload.id
        if let digest = upload.facts.digest {
            let found = await disk.digest(of: file, 0..<length, digest.algorithm)
            guard try found.mapError({ UploadError($0) }).get() == digest else {
                try await end(id, reason: "its bytes do not have the stated digest")
                throw UploadError(
                    .digestMismatch, "The bytes do not have the stated digest, and were dropped; send the file again.")
            }
        }
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
            submission = try await self.submission(of: whole)
        } catch {
            throw await refuse(id, error)
        }
        let due =
            if whole.isPartial { clock() + limits.maxAge } else if submission == nil { nil as Timestamp? } else {
                clock() + Self.firstLook
            }
        let change: UploadChange
        do throws(StoreError) {
            change = try await committer.commit(.complete(id, length: length, submission, due: due))
        } catch {
            let error = UploadError(error, offset: upload.offset)
            switch error.code {
            // The command can never be made of it.
            case .invalid, .keyConflict: throw await refuse(id, error)
            default: throw error
            }
        }
        let now = try Self.upload(id, after: change)
        space.withLock { $0.settle(id, size: length) }
        statistics.completed(now, submission, at: clock())
        if let command = now.command, command != id {
            // Another command holds the unique key: its bytes are those of the upload that made it.
            await dropBytes(of: now)
        }
        return now
    }

    /// The command that a complete upload becomes.
    func submission(of upload: Upload) async throws(UploadError) -> UploadSubmission? {
        if upload.isPartial { return nil }
        let path = spool.file(of: upload.id)
        let needsDigest = rules.needsDigest(upload.facts)
        var sha256: [UInt8]?
        if needsDigest {
            if let stated = upload.facts.digest, stated.algorithm == .sha256 {
                sha256 = stated.bytes
            } else {
                sha256 = await digest(of: upload, .sha256)?.bytes
            }
        }
        return try await disk.run { [rules, sha256] () throws(UploadError) in
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

extension UploadAppend {
    /// Whether the offset moves only after a check of all bytes.
    var isVerified: Bool { checksum != nil || hasTrailingChecksum }

    /// The length of the upload, as this request states or implies it.
    var statedLength: Int64? {
        if let length { return length }
        guard completion == .atEnd, let size else { return nil }
        return offset.addingReportingOverflow(size).overflow ? nil : offset + size
    }

    /// - Returns: the upload where the request has nothing to add to it: it repeats the last one, whose response was
    ///   lost.
    func answer(for upload: Upload) throws(UploadError) -> Upload? {
        switch upload.state {
        case .open: return nil
        case .ended: throw .ended(upload)
        case .complete:
            if case .final? = upload.facts.concatenation {
                throw .isFinal(upload)
            }
            guard offset == upload.offset else {
                throw UploadError(
                    .offsetMismatch(expected: upload.offset),
                    "The request begins at byte \(offset), and upload \(upload.id) has all its \(upload.offset) bytes.",
                    offset: upload.offset)
            }
            guard size == 0 else {
                throw UploadError(
                    .complete, "Upload \(upload.id) has all its bytes, and takes no more.", offset: upload.offset)
            }
            return upload
        }
    }

    func check(_ upload: Upload, length: Int64?, limit: Int64) throws(UploadError) {
        guard offset == upload.offset else {
            throw UploadError(
                .offsetMismatch(expected: upload.offset),
                "The request begins at byte \(offset), and upload \(upload.id) goes on at \(upload.offset).",
                offset: upload.offset)
        }
        if let stated = statedLength {
            let isKnown = upload.length.map { $0 != stated } ?? false
            guard !isKnown, stated >= offset else {
                throw UploadError(
                    .inconsistentLength,
                    "The request says that upload \(upload.id) has \(stated) bytes, and it has \(upload.length ?? offset).",
                    offset: upload.offset)
            }
        }
        guard (length ?? 0) <= limit, (size ?? 0) <= limit - offset else {
            throw UploadError(
                .tooLarge(limit: limit), "Upload \(upload.id) may have \(limit) bytes, and the request brings more.",
                offset: upload.offset)
        }
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
