internal import Commands
internal import HTTPClient
internal import Host
internal import Operations
internal import Transfers

/// Decides whether the source of an upload may be deleted. It may be the only copy, so it is deleted last.
///
/// | answer of the destination | source and command |
/// |---|---|
/// | the length, or the SHA-256 (`Repr-Digest`), of the source | deleted |
/// | none (403, 405, 501), or no length | deleted: the answer to the upload is trusted |
/// | another length or digest, 404, 410 | kept; the upload fails: charged where it is idempotent, else in doubt |
/// | a page or record about the file, at the `Location` of a POST | kept, `unverified` |
/// | 404 or 410 for a complete tus upload | kept, `unverified`: the upload may have been processed, or lost |
/// | unavailable | kept, `unverified` |
/// | 202 to the upload, whatever the queries of the next minute find | kept, `unverified` |
struct DeliveryCheck: Sendable {
    enum Decision: Sendable {
        case deleteSource
        /// The delivery is not confirmed: the reason is the `sourceProblem` of the result.
        case keepSource(String)
        /// The upload has failed.
        case fail(CommandFailure)
    }

    let requests: UploadRequests
    let source: SourceFile
    let timing: UploadTiming

    /// - Parameters:
    ///   - query: the query for the delivery; nil where there is none.
    ///   - status: the status of the answer to the upload.
    func decide(_ query: DeliveryQuery?, after status: Int) async -> Decision {
        let isAccepted = status == 202
        var pauses = (isAccepted ? timing.acceptedRecheckDelays : timing.contradictionRecheckDelays)[...]
        var contradiction: DeliveryEvidence?
        while true {
            let evidence = await ask(query)
            if case .complete = evidence { return .deleteSource }
            if evidence.isContradiction { contradiction = evidence }
            if case .description = evidence, contradiction == nil { return conclusion(from: evidence, status) }
            // An answer without evidence does not revoke an earlier contradiction.
            if case .unknown = evidence, contradiction == nil {
                return isAccepted ? .keepSource(notYet) : .deleteSource
            }
            guard let pause = pauses.popFirst(), (try? await Task.sleep(for: pause)) != nil else {
                return conclusion(from: contradiction ?? evidence, status)
            }
        }
    }

    private func ask(_ query: DeliveryQuery?) async -> DeliveryEvidence {
        guard let query else { return .unknown }
        let (source, execution) = (source, requests.execution)
        return await query.send(requests, size: source.identity.size) {
            do {
                return try await BlockingIO.sources.run(at: source.path) {
                    try ReprDigest.sha256(of: source) { execution.verifying($0) }
                }
            } catch let error as SystemError {
                throw CommandFailure(.command, reason: "\(source.path) cannot be read: \(error)")
            }
        }
    }

    private func conclusion(from evidence: DeliveryEvidence, _ status: Int) -> Decision {
        // The destination may still be storing what it has accepted.
        if status == 202, evidence.isContradiction { return .keepSource(notYet) }
        switch evidence {
        case .mismatch(let what):
            let (upload, isIdempotent) = (requests.upload, requests.execution.command.idempotent)
            var failure = CommandFailure(
                .command,
                reason: "the upload to \(upload.to.displayText) was answered \(status), but the destination says it "
                    + "\(what); the source is kept",
                // A second POST may deliver the file twice.
                ambiguous: !isIdempotent)
            failure.isAnswer = true
            return .fail(failure)
        case .gone(let what):
            return .keepSource("\(source.path) was kept: the destination answered \(status), but says that it \(what)")
        case .unavailable(let error): return .keepSource(unconfirmed(Self.words(error)))
        case .description(let what): return .keepSource(unconfirmed("it \(what)"))
        case .complete, .unknown: return .deleteSource
        }
    }

    private func unconfirmed(_ why: String) -> String {
        "\(source.path) was kept: the destination cannot confirm the delivery: \(why)"
    }

    private var notYet: String {
        "\(source.path) was kept: the destination accepted the upload (202) but has not confirmed that it is stored"
    }

    private static func words(_ error: any Error) -> String {
        switch error {
        case is CancellationError: "the upload was stopped before that"
        default: error.words
        }
    }
}

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
