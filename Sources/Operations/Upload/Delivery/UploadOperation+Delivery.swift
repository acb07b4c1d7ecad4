internal import Commands
internal import HTTPClient
internal import Work

/// What becomes of a source that is to go after its upload.
extension UploadOperation {
    /// - Throws: ``CommandFailure`` where the destination contradicts its answer.
    func remove(
        _ source: SourceFile, _ requests: UploadRequests, _ record: HTTPRecord, _ question: DeliveryQuestion?
    ) async throws -> SourceRemoval {
        let check = DeliveryCheck(requests: requests, source: source, timing: timing)
        switch await check.decide(question, after: record.status ?? 0) {
        case .fail(let failure): throw failure
        case .keep(let why): return SourceRemoval(problem: why)
        case .remove: break
        }
        return await SourceRemoval(deleting: source)
    }

    /// An earlier execution may have delivered the file, deleted it as asked, and died before it could say so. Then the
    /// destination has the only copy.
    ///
    /// A tus upload is known by its place, and a session by its URL. Of anything else the destination must say that it
    /// got it after the submit (`Last-Modified`): a file of that size may be an older one. Where it does not say, the
    /// delivery is not believed.
    /// - Throws: where it cannot be told now: the destination cannot be reached, or says to come again.
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
        let way = UploadCheckpoint(execution.checkpoint, of: source)?.way
        if case .tus? = way {} else if upload.transferProtocol == .tus { return nil }
        if upload.transferProtocol == nil { requests.upload.transferProtocol = .put }
        requests.upload.resolveDirectory()
        let question = DeliveryQuestion(way, target: requests.upload.to)
        switch await question.ask(requests, size: source.size, digest: { nil }) {
        case .every(let record):
            if case .head = question {
                guard let modified = record.header("last-modified").flatMap({ RetryAfter.date($0) }),
                    execution.mayHaveWritten(at: modified)
                else { return nil }
            }
            execution.progress(offset: source.size, total: source.size)
            return requests.result(record, removal: SourceRemoval(problem: nil))
        case .notNow(let error): throw error
        case .lacks, .gone, .untold: return nil
        }
    }
}
