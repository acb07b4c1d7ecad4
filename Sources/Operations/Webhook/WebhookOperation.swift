package import Commands
internal import HTTPClient
internal import NIOCore
internal import NIOHTTP1
package import Work

/// Sends one signed message to a receiver (Standard Webhooks 1.0.0). See ``WebhookPayload``.
///
/// ``WebhookVerdict`` decides what an answer means, and ``WebhookRetryTable`` when a message is sent again.
/// Every attempt sends the same bytes and the same id with a timestamp and signatures of its own.
package struct WebhookOperation: CommandOperation {
    package let type = CommandType.webhook

    let transport: any RequestTransport
    let endpoints: WebhookEndpoints
    let credentials: CredentialStore
    let evidence: DestinationEvidence

    /// Bytes of the answer that the result has at most.
    static let maxAnswer = 4 << 10

    /// A message, signed for one attempt.
    private struct Attempt {
        let url: ResourceURL
        let id: String
        let body: ByteBuffer
        let timeout: Duration
        let sender: RequestSender

        var request: String { "POST \(url.displayText)" }
    }

    // MARK: Submit

    package func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        let message = try WebhookPayload(payload)
        var attributes = PayloadAttributes(
            destination: message.url.destination, idempotent: message.isIdempotent, payload: message.json)
        attributes.retryLimit = WebhookRetryTable.retryLimit
        return attributes
    }

    // MARK: Execution

    package func execute(_ execution: CommandExecution) async throws -> [UInt8]? {
        let attempt = try await attempt(execution)
        var parts = RequestSender.Parts(.POST, attempt.url)
        (parts.body, parts.range, parts.needsAnswer) = (
            .whole(attempt.body), 0..<Int64(attempt.body.readableBytes), true
        )
        let (record, isLate) = await attempt.sender.send(parts, until: .now + attempt.timeout)
        if let failure = failure(of: record, isLate: isLate, attempt) {
            throw (failure as? CommandFailure).map { Self.withBackoff($0, execution.command) } ?? failure
        }
        evidence.recordSuccess(at: attempt.url.destination)
        return Self.result(record, attempt)
    }

    private func attempt(_ execution: CommandExecution) async throws -> Attempt {
        let message: WebhookPayload
        do {
            message = try WebhookPayload(try JSONValue(parsing: execution.payload))
                .prepared(for: execution.id, now: execution.command.createdAt)
        } catch {
            throw CommandFailure(.final, reason: "the payload of this webhook cannot be used: \(error)")
        }
        let (id, body) = (message.id ?? "", message.body ?? [])
        let endpoint = try endpoints.endpoint(for: message)
        let secrets = try await Self.secrets(of: endpoint)
        let signature = try Self.signing(with: endpoint) {
            try WebhookSignature(id: id, body: body, at: .now, secrets)
        }
        let credential = try await credentials.field(for: message.url.destination, unlessIn: [])
        // As headers of the payload, the signatures are redacted where the answer repeats them.
        let sender = RequestSender(
            execution: execution, headers: signature.headers, credential: credential, transport: transport,
            evidence: evidence)
        return Attempt(
            url: message.url, id: id, body: ByteBuffer(bytes: body), timeout: endpoint.timeout, sender: sender)
    }

    private static func secrets(of endpoint: WebhookEndpoint) async throws -> [WebhookSecret] {
        do {
            return try await BlockingIO.sources.run { try endpoint.readSecrets() }
        } catch is CancellationError {
            throw CommandFailure.stopped("the webhook to \(endpoint.origin)")
        } catch {
            return try signing(with: endpoint) { throw error }
        }
    }

    /// A secret that cannot be used is the failure of the credential: the message waits until it is mended.
    private static func signing<Value>(with endpoint: WebhookEndpoint, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            throw CommandFailure(
                .credential, reason: "no signature for the webhook endpoint “\(endpoint.name)”: \(error)")
        }
    }

    // MARK: The answer

    private func failure(of record: HTTPRecord, isLate: Bool, _ attempt: Attempt) -> (any Error)? {
        guard let status = record.status else {
            if isLate { return Self.late(record, attempt) }
            return attempt.sender.failure(record, of: .POST, attempt.url) ?? CommandFailure.stopped(attempt.request)
        }
        var response = WebhookResponse(status)
        response.retryAfter = record.header("retry-after")
        response.location = record.header("location")
        response.text = String(buffer: record.body)
        let verdict = WebhookVerdict(request: attempt.request, now: .now)
        return verdict.failure(response).map {
            evidence.judge($0, of: attempt.sender.execution.id, at: attempt.url.destination, since: record.startedAt)
        }
    }

    /// The receiver is silent. A request of which no byte was sent is the failure of the link.
    private static func late(_ record: HTTPRecord, _ attempt: Attempt) -> CommandFailure {
        CommandFailure(
            record.mayHaveSent ? .command : .link,
            reason: "\(attempt.request) was not answered within \(attempt.timeout.milliseconds / 1000) s (“timeout” of "
                + "the endpoint in sluice.yaml)", ambiguous: record.mayHaveSent)
    }

    /// Receivers are mended within days, so the waits are those of the table. A retry limit above that of the
    /// table repeats its last wait.
    private static func withBackoff(_ failure: CommandFailure, _ command: Command) -> CommandFailure {
        var failure = failure
        failure.backoff = WebhookRetryTable.delay(
            retries: min(command.retries, WebhookRetryTable.retryLimit - 1), retryAfter: nil,
            chance: .random(in: 0..<1))
        return failure
    }

    private static func result(_ record: HTTPRecord, _ attempt: Attempt) -> [UInt8] {
        var record = record
        if let start = record.body.getSlice(
            at: record.body.readerIndex, length: min(record.body.readableBytes, maxAnswer))
        {
            record.body = start
        }
        var extras = HTTPResult.Extras()
        (extras.message, extras.attempts) = (attempt.id, attempt.sender.execution.claim)
        return attempt.sender.result(record, extras)
    }
}
