internal import Commands
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
