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
    func run(_ dialect: some UploadDialect, _ start: Resumption.Start) async throws -> Outcome {
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
    private func save(_ dialect: some UploadDialect, after answer: ResumptionAnswer) async throws {
        guard case .holds = answer, let checkpoint = dialect.checkpoint else { return }
        try await requests.execution.save(checkpoint, of: source)
    }

    private func report(_ answer: ResumptionAnswer) {
        guard case .holds(let offset, _) = answer, (0...source.size).contains(offset) else { return }
        requests.execution.progress(offset: offset, total: source.size)
    }
}
