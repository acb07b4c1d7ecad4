internal import Commands
internal import Host
internal import Work

/// Decides whether the source of an upload may be deleted. It may be the only copy, so it is deleted last.
///
/// | answer of the destination | source and command |
/// |---|---|
/// | the length, or the SHA-256 (`Repr-Digest`), of the source | deleted |
/// | none (403, 405, 501), or no length | deleted: the answer to the upload is trusted |
/// | another length or digest, 404, 410 | kept. An idempotent PUT or tus upload fails charged; any other succeeds with a `sourceProblem` |
/// | 404 or 410 for a complete tus upload | kept, `sourceProblem`: the upload may have been processed, or lost |
/// | unavailable | kept, `sourceProblem` |
/// | 202 to the upload | queried again for up to a minute; then kept, `sourceProblem` |
struct DeliveryCheck: Sendable {
    enum Decision: Sendable {
        case deleteSource
        /// With the reason, for the `sourceProblem` of the result.
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
        let upload = requests.upload
        switch evidence {
        case .mismatch(let what) where status != 202 && upload.method == .put && requests.execution.command.idempotent:
            var failure = CommandFailure(
                .command,
                reason: "the upload to \(upload.to.displayText) was answered \(status), but the destination says it "
                    + "\(what); the source is kept")
            failure.isAnswer = true
            return .fail(failure)
        case .mismatch where status == 202: return .keepSource(notYet)
        case .mismatch(let what), .gone(let what):
            return .keepSource("\(source.path) was kept: the destination answered \(status), but says that it \(what)")
        case .unavailable(let error):
            return .keepSource(
                "\(source.path) was kept: the destination cannot confirm the delivery: \(Self.words(error))")
        case .complete, .unknown: return .deleteSource
        }
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
