internal import Commands
internal import HTTPClient
internal import Operations
internal import Transfers

/// The removal of sources after their upload.
extension UploadOperation {
    /// Deletes the source if the destination confirms the delivery.
    /// - Throws: ``CommandFailure`` where the destination contradicts its answer to the upload.
    func remove(
        _ source: SourceFile, _ requests: UploadRequests, _ record: HTTPRecord, _ query: DeliveryQuery?
    ) async throws -> SourceRemovalResult {
        let check = DeliveryCheck(requests: requests, source: source, timing: timing)
        switch await check.decide(query, after: record.status ?? 0) {
        case .fail(let failure): throw failure
        case .keepSource(let why): return SourceRemovalResult(unverified: why)
        case .deleteSource: break
        }
        return await SourceRemovalResult(deleting: source)
    }

    /// Finds out whether an earlier execution has delivered the file, deleted the source as requested, and
    /// died before it could report that. Then the destination has the only copy.
    ///
    /// A tus upload is identified by its location, and a session by its URL. Any other target must have been
    /// modified after the submit (`Last-Modified`), because a file of the same size may be older. Without
    /// that the delivery counts as not confirmed.
    /// - Returns: the result; nil where the delivery is not confirmed.
    /// - Throws: an error where the destination is unavailable.
    func confirmDelivery(_ upload: UploadPayload, _ execution: CommandExecution) async throws -> [UInt8]? {
        guard upload.removeSource, execution.command.idempotent, upload.method == .put, execution.claim > 1,
            let source = upload.source
        else {
            return nil
        }
        let credential = credential(for: upload)
        let header: (name: String, value: String)?
        do {
            header = try await BlockingIO.sources.run { try credential?.header() }
        } catch {
            throw CommandFailure(.credential, reason: "no credential for \(upload.to.destination): \(error)")
        }
        var requests = UploadRequests(
            upload: upload, execution: execution, credential: header, transport: transport,
            evidence: evidence)
        let resumePoint = UploadCheckpoint(execution.checkpoint, of: source)?.resumePoint
        if case .tus? = resumePoint {} else if upload.transferProtocol == .tus { return nil }
        if upload.transferProtocol == nil { requests.upload.transferProtocol = .put }
        requests.upload.resolveDirectory()
        let query = DeliveryQuery(resumePoint, target: requests.upload.to)
        switch await query.send(requests, size: source.size, digest: { nil }) {
        case .complete(let record):
            if case .head = query {
                guard let modified = record.header("last-modified").flatMap({ RetryAfter.date($0) }),
                    execution.mayHaveWritten(at: modified)
                else { return nil }
            }
            execution.progress(offset: source.size, total: source.size)
            return requests.result(record, removal: SourceRemovalResult(problem: nil))
        case .unavailable(let error): throw error
        case .mismatch, .gone, .description, .unknown: return nil
        }
    }
}
