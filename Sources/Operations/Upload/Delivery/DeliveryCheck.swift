internal import Commands
internal import Host
internal import Work

/// Decides whether the source of an upload may go: it may be the only copy, and goes last.
///
/// | the destination says | what becomes of the source and the command |
/// |---|---|
/// | the length, or the SHA-256 (`Repr-Digest`), of the source | removed |
/// | nothing: it cannot be asked (403, 405, 501), or states no length | removed: its answer to the upload is believed |
/// | another length or digest, 404, 410 | kept. An idempotent PUT or tus upload fails and is charged; anything else succeeds with a `sourceProblem` |
/// | 404 or 410 of a tus upload that it had whole | kept, `sourceProblem`: it may have been processed, or lost |
/// | it does not answer | kept, `sourceProblem` |
/// | 202 to the upload | asked again for up to a minute; then kept, `sourceProblem` |
struct DeliveryCheck: Sendable {
    enum Decision: Sendable {
        case remove
        /// - Parameter 0: why, for the result's `sourceProblem`.
        case keep(String)
        /// The upload has failed.
        case fail(CommandFailure)
    }

    let requests: UploadRequests
    let source: SourceFile
    let timing: UploadTiming

    /// - Parameters:
    ///   - question: nil where the destination cannot be asked.
    ///   - status: the answer to the upload.
    func decide(_ question: DeliveryQuestion?, after status: Int) async -> Decision {
        let isAccepted = status == 202
        var pauses = (isAccepted ? timing.acceptedWaits : timing.contradictedWaits)[...]
        var contradiction: DeliveryEvidence?
        while true {
            let evidence = await ask(question)
            if case .every = evidence { return .remove }
            if evidence.isContradiction { contradiction = evidence }
            // Silence does not take back what was said before.
            if case .untold = evidence, contradiction == nil { return isAccepted ? .keep(notYet) : .remove }
            guard let pause = pauses.popFirst(), (try? await Task.sleep(for: pause)) != nil else {
                return conclusion(from: contradiction ?? evidence, status)
            }
        }
    }

    private func ask(_ question: DeliveryQuestion?) async -> DeliveryEvidence {
        guard let question else { return .untold }
        let source = source
        return await question.ask(requests, size: source.identity.size) {
            do {
                return try await BlockingIO.sources.run(at: source.path) { try ReprDigest.sha256(of: source) }
            } catch let error as SystemError {
                throw CommandFailure(.command, reason: "\(source.path) cannot be read: \(error)")
            }
        }
    }

    private func conclusion(from evidence: DeliveryEvidence, _ status: Int) -> Decision {
        let upload = requests.upload
        switch evidence {
        case .lacks(let what) where status != 202 && upload.method == .put && requests.execution.command.idempotent:
            var failure = CommandFailure(
                .command,
                reason: "the upload to \(upload.to.textForPeople) was answered \(status), but the destination says it "
                    + "\(what); the source is kept")
            failure.isAnswer = true
            return .fail(failure)
        case .lacks where status == 202: return .keep(notYet)
        case .lacks(let what), .gone(let what):
            return .keep("\(source.path) was kept: the destination answered \(status), but says that it \(what)")
        case .notNow(let error):
            return .keep("\(source.path) was kept: the destination cannot be asked for it: \(Self.words(error))")
        case .every, .untold: return .remove
        }
    }

    private var notYet: String {
        "\(source.path) was kept: the destination accepted it (202) but has not said that it holds it"
    }

    private static func words(_ error: any Error) -> String {
        switch error {
        case is CancellationError: "the upload was stopped first"
        case let failure as CommandFailure: failure.reason
        default: "\(error)"
        }
    }
}
