internal import Commands
internal import Operations
internal import Transfers

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
