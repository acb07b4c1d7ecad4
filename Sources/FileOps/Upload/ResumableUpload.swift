internal import Commands
internal import HTTPClient
internal import Operations
internal import Transfers

/// Executes the steps of a ``Resumption`` by a dialect, reports progress, and saves the checkpoint.
struct ResumableUpload: Sendable {
    enum Outcome: Sendable {
        /// The destination holds every byte, according to this answer. The resume point identifies the
        /// upload.
        case complete(HTTPRecord, UploadCheckpoint.ResumePoint?)
        /// The destination takes the file in one request only.
        /// - isOurs: this upload has created the target.
        case wholeOnly(isOurs: Bool)
    }

    let requests: UploadRequests
    let source: SourceIdentity
    let chunks: ChunkSizes
    let limits: Resumption.Limits
    /// The maximum bytes of a request by sluice.yaml; nil: unlimited.
    let configuredChunk: Int64?

    /// - Returns: how the upload ended at the destination.
    /// - Throws: ``CommandFailure``, or `CancellationError` where the task was cancelled during a request.
    func run(_ dialect: some ResumptionDialect, _ start: Resumption.Start) async throws -> Outcome {
        let (execution, destination) = (requests.execution, requests.upload.to.destination)
        var dialect = dialect
        var resumption = Resumption(
            of: "the upload to \(requests.upload.to.displayText)", size: source.size,
            isIdempotent: execution.command.idempotent,
            chunk: dialect.takesChunks ? chunks.chunk(for: destination, configured: configuredChunk) : nil,
            limits: limits)
        if case .created(let answer) = start {
            try await save(dialect, after: answer)
            report(answer)
        }
        var step = resumption.start(start)
        while true {
            let answer: ResumptionAnswer
            switch step {
            case .create:
                answer = await dialect.create()
                try await save(dialect, after: answer)
            case .locate:
                answer = await dialect.locate()
                if case .holds = answer { execution.canResume() }
            case .append(let range): answer = await dialect.append(range)
            case .confirm: answer = await dialect.confirm()
            case .pause(let wait):
                try await Task.sleep(for: wait)
                step = resumption.pauseEnded()
                continue
            case .finish(let record): return .complete(record, dialect.checkpoint)
            case .sendWhole(let isOurs): return .wholeOnly(isOurs: isOurs)
            case .fail(let error): throw error
            }
            report(answer)
            step = resumption.next(after: answer)
            if case .tooLarge = answer, let chunk = resumption.chunk { chunks.learn(chunk, for: destination) }
        }
    }

    /// Saves the checkpoint before the first byte leaves, so that any worker can resume the upload.
    private func save(_ dialect: some ResumptionDialect, after answer: ResumptionAnswer) async throws {
        guard case .holds = answer, let checkpoint = dialect.checkpoint else { return }
        try await requests.execution.save(checkpoint, of: source)
    }

    private func report(_ answer: ResumptionAnswer) {
        guard case .holds(let offset, _) = answer, (0...source.size).contains(offset) else { return }
        requests.execution.progress(offset: offset, total: source.size)
    }
}

/// Resumable uploads.
extension UploadOperation {
    func tus(_ source: SourceFile, _ requests: UploadRequests) async throws -> ResumableUpload.Outcome {
        let location = Self.tusLocation(of: requests, source.identity)
        let dialect = TusDialect(requests: requests, source: source, location: location)
        return try await resumable(source, requests).run(
            dialect, location == nil ? .create : .locate(held: requests.execution.command.offset))
    }

    func contentRange(
        _ source: SourceFile, _ requests: UploadRequests
    ) async throws -> ResumableUpload.Outcome {
        let messages = ContentRangeRequests(requests: requests, source: source)
        let (session, length) = (ContentRangeSession(messages: messages), ContentRangeLength(messages: messages))
        let upload = resumable(source, requests)
        let held = requests.execution.command.offset
        switch UploadCheckpoint(requests.execution.checkpoint, of: source.identity)?.resumePoint {
        case .contentRange(.session)?: return try await upload.run(session, .locate(held: held))
        case .contentRange(.length)?: return try await upload.run(length, .locate(held: held))
        case .tus?, .copy?, nil: break
        }
        guard messages.size > 0 else { return .wholeOnly(isOurs: false) }
        switch try await messages.querySupport() {
        case .session(let answer): return try await upload.run(session, .created(answer))
        case .length(let emptied): return try await upload.run(length, emptied.map { .created($0) } ?? .create)
        case .none(let createdTarget): return .wholeOnly(isOurs: createdTarget)
        }
    }

    private func resumable(_ source: SourceFile, _ requests: UploadRequests) -> ResumableUpload {
        var limits = Resumption.Limits()
        limits.lockRetryDelays = lockRetryDelays
        limits.vanishedRecheckDelay = timing.vanishedRecheckDelay
        return ResumableUpload(
            requests: requests, source: source.identity, chunks: chunks, limits: limits,
            configuredChunk: resumes.chunkSize(at: requests.upload.to.destination))
    }

    private static func tusLocation(of requests: UploadRequests, _ source: SourceIdentity) -> TusLocation? {
        guard case .tus(let location)? = UploadCheckpoint(requests.execution.checkpoint, of: source)?.resumePoint,
            location.url.destination == requests.upload.to.destination
        else { return nil }
        return location
    }
}
