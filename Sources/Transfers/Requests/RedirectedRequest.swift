internal import Commands
package import HTTPClient
internal import NIOHTTP1
package import Operations

/// Sends one request of an execution, and again to each URL that a redirect names (``RedirectRules``).
package struct RedirectedRequest: Sendable {
    /// The answer that is not a redirect to follow, or the error that came instead.
    package struct Response: Sendable {
        package var record: HTTPRecord
        /// After the last step.
        package var redirects: RedirectRules
        /// Sent the last request.
        package var sender: RequestSender
    }

    package let execution: CommandExecution
    /// Of the payload.
    package var headers: [HTTPField]
    package let transport: any RequestTransport
    package let credentials: CredentialStore
    package let evidence: DestinationEvidence
    /// Whether ``Confinement`` holds for the command.
    package let isConfined: Bool

    package init(
        execution: CommandExecution, headers: [HTTPField], transport: any RequestTransport,
        credentials: CredentialStore, evidence: DestinationEvidence, isConfined: Bool
    ) {
        self.execution = execution
        self.headers = headers
        self.transport = transport
        self.credentials = credentials
        self.evidence = evidence
        self.isConfined = isConfined
    }

    /// - Parameters:
    ///   - parts: of the first request.
    ///   - isFinal: whether an answer with this status is wanted, even where it is a redirect.
    ///   - reader: makes the reader of a successful response; nil: up to 64 KiB of it are stored.
    ///   - send: sends one request.
    /// - Throws: ``CommandFailure`` for a redirect that is not followed; the error of `send`.
    package func send(
        _ parts: RequestSender.Parts, maxRedirects: Int, isFinal: @Sendable (Int) -> Bool = { _ in false },
        reader: (@Sendable (RedirectRules) -> ResponseReader)? = nil,
        by send: @Sendable (RequestSender, RequestSender.Parts) async throws -> HTTPRecord = { await $0.send($1) }
    ) async throws -> Response {
        var parts = parts
        var redirects = RedirectRules(parts.url, method: parts.method.rawValue, maxRedirects: maxRedirects)
        while true {
            let sender = try await sender(redirects)
            parts.url = redirects.url
            parts.reader = reader?(redirects)
            let record = try await send(sender, parts)
            let response = Response(record: record, redirects: redirects, sender: sender)
            guard let status = record.status else { return response }
            evidence.recordAnswer(status, to: execution.id, at: redirects.url.destination)
            guard !isFinal(status) else { return response }
            switch redirects.step(status: status, location: record.header("location")) {
            case .follow: continue
            case .refused(let failure): throw failure
            case .none: return response
            }
        }
    }

    private func sender(_ redirects: RedirectRules) async throws -> RequestSender {
        let headers = headers.filter { redirects.sends(field: $0.name) }
        let credential = try await credentials.field(for: redirects.credentialDestination, unlessIn: headers)
        return RequestSender(
            execution: execution, headers: headers, credential: credential, transport: transport, evidence: evidence,
            isConfined: isConfined)
    }
}
