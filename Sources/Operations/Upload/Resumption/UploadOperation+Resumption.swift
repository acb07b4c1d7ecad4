internal import Commands
internal import Work

/// Uploads that can go on where they were cut.
extension UploadOperation {
    func tus(_ source: SourceFile, _ requests: UploadRequests) async throws -> ResumableUpload.Outcome {
        let location = Self.tusLocation(of: requests, source.identity)
        let dialect = TusDialect(requests: requests, source: source, location: location)
        return try await resumable(source, requests).run(
            dialect, location == nil ? .begin : .locate(held: requests.execution.command.offset))
    }

    func contentRange(
        _ source: SourceFile, _ requests: UploadRequests
    ) async throws -> ResumableUpload.Outcome {
        let messages = ContentRangeRequests(requests: requests, source: source)
        let (session, length) = (ContentRangeSession(messages: messages), ContentRangeLength(messages: messages))
        let upload = resumable(source, requests)
        let held = requests.execution.command.offset
        switch UploadCheckpoint(requests.execution.checkpoint, of: source.identity)?.way {
        case .contentRange(.session)?: return try await upload.run(session, .locate(held: held))
        case .contentRange(.length)?: return try await upload.run(length, .locate(held: held))
        case .tus?, .copy?, nil: break
        }
        guard messages.size > 0 else { return .wholeOnly(isOurs: false) }
        switch try await messages.discover() {
        case .session(let answer): return try await upload.run(session, .begun(answer))
        case .length(let begun): return try await upload.run(length, begun.map { .begun($0) } ?? .begin)
        case .wholeOnly(let isOurs): return .wholeOnly(isOurs: isOurs)
        }
    }

    private func resumable(_ source: SourceFile, _ requests: UploadRequests) -> ResumableUpload {
        var limits = Resumption.Limits()
        limits.lockWaits = lockWaits
        limits.secondQuestion = timing.secondQuestion
        return ResumableUpload(
            requests: requests, source: source.identity, chunks: chunks, limits: limits,
            configuredChunk: resumes.chunkSize(at: requests.upload.to.destination))
    }

    private static func tusLocation(of requests: UploadRequests, _ source: SourceIdentity) -> TusLocation? {
        guard case .tus(let location)? = UploadCheckpoint(requests.execution.checkpoint, of: source)?.way,
            location.url.destination == requests.upload.to.destination
        else { return nil }
        return location
    }
}
