package import Commands
package import HTTPClient
internal import NIOCore
internal import NIOHTTP1
package import Operations
internal import Settings
package import Transfers

/// Sends one signed message to a receiver (Standard Webhooks 1.0.0). See ``WebhookPayload``.
///
/// ``WebhookVerdict`` decides what an answer means, and ``WebhookRetryTable`` when a message is sent again.
/// Every attempt sends the same bytes and the same id with a timestamp and signatures of its own.
package struct WebhookOperation: CommandOperation {
    package let type = CommandType.webhook
    package var rule: PayloadRule { PayloadRule(destination: "/url", retryLimit: WebhookRetryTable.retryLimit) }

    package let transport: any RequestTransport
    package let endpoints: WebhookEndpoints
    package let credentials: CredentialStore
    package let evidence: DestinationEvidence
    /// How the receivers have answered; nil where this process executes nothing.
    package var states: WebhookEndpointStates?

    package init(
        transport: any RequestTransport, endpoints: WebhookEndpoints, credentials: CredentialStore,
        evidence: DestinationEvidence, states: WebhookEndpointStates? = nil
    ) {
        self.transport = transport
        self.endpoints = endpoints
        self.credentials = credentials
        self.evidence = evidence
        self.states = states
    }

    /// How long a message to a paused endpoint is held back at a time. `sluice webhook resume` ends the wait.
    static let hold: Duration = .seconds(24 * 3600)

    /// Bytes of the answer that the result has at most.
    static let maxAnswer = 4 << 10

    /// A message, signed for one attempt.
    private struct Attempt {
        let url: ResourceURL
        let id: String
        let body: ByteBuffer
        let endpoint: WebhookEndpoint
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
        let (record, isLate) = await attempt.sender.send(parts, until: .now + attempt.endpoint.timeout)
        if let failure = failure(of: record, isLate: isLate, attempt) {
            guard let failure = failure as? CommandFailure else { throw failure }
            await report(failure, status: record.status, attempt)
            throw Self.withBackoff(failure, execution.command)
        }
        await states?.succeeded(at: attempt.endpoint)
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
        if let pause = try await pause(of: endpoint, for: message.url) { throw Self.heldBack(pause) }
        let secrets = try await Self.secrets(of: endpoint)
        let signature = try Self.signing(with: endpoint) {
            try WebhookSignature(id: id, body: body, at: .now, secrets)
        }
        let credential = try await credentials.field(for: message.url.destination, unlessIn: [])
        // As headers of the payload, the signatures are redacted where the answer repeats them.
        let sender = RequestSender(
            execution: execution, headers: signature.headers, credential: credential, transport: transport,
            evidence: evidence, isConfined: message.isConfined)
        return Attempt(
            url: message.url, id: id, body: ByteBuffer(bytes: body), endpoint: endpoint, sender: sender)
    }

    /// - Returns: why a message to this URL waits, in a clause; nil where it is sent.
    private func pause(of endpoint: WebhookEndpoint, for url: ResourceURL) async throws -> String? {
        let state: WebhookEndpointState?
        do {
            state = try await states?.state(of: endpoint, for: url.text)
        } catch {
            throw CommandFailure.stopped("the webhook to \(endpoint.origin)")
        }
        guard let state, !state.permits(url.text) else { return nil }
        if state.isActive, let gone = state.gone(url.text) {
            return "\(gone.url) has answered 410 (gone), and gets no message"
        }
        return "the webhook endpoint “\(endpoint.name)” is paused"
    }

    /// Messages that were held back together are not tried again together.
    private static func heldBack(_ pause: String) -> CommandFailure {
        .heldBack(
            reason: "\(pause); “sluice webhook list” says why",
            for: hold * (1 + Double.random(in: -0.25..<0.25)))
    }

    /// Counts the failure, and publishes the pause that it causes.
    private func report(_ failure: CommandFailure, status: Int?, _ attempt: Attempt) async {
        guard let pause = await states?.failed(failure, status: status, at: attempt.endpoint, attempt.url) else {
            return
        }
        let execution = attempt.sender.execution
        var members: [JSONValue.Member] = [
            .init("state", "paused"), .init("cause", .string(pause.cause.rawValue)),
            .init("since", .string(pause.since.description)), .init("command", .string(execution.id.description)),
        ]
        if pause.cause == .gone { members.append(.init("url", .string(attempt.url.displayText))) }
        execution.publish("endpoint/\(attempt.endpoint.name)", .object(members))
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
                .credential, reason: "no signature for the webhook endpoint “\(endpoint.name)”: \(error.words)")
        }
    }

    // MARK: The answer

    private func failure(of record: HTTPRecord, isLate: Bool, _ attempt: Attempt) -> (any Error)? {
        guard let status = record.status else {
            if isLate { return Self.late(record, attempt) }
            return attempt.sender.failure(record, of: .POST, attempt.url) ?? CommandFailure.stopped(attempt.request)
        }
        var response = WebhookResponse(status)
        response.retryAfter = RequestLimit.retryAfter(status, now: .now) { record.header($0) }
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
            reason: "\(attempt.request) was not answered within \(attempt.endpoint.timeout.milliseconds / 1000) s "
                + "(“timeout” of the endpoint in sluice.yaml)", ambiguous: record.mayHaveSent)
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

/// When a message is sent again (Standard Webhooks 1.0.0, “Deliverability and reliability”): 10 attempts
/// within 75.6 hours. ``RetryPolicy`` would give up after ten minutes, and receivers are mended within days.
enum WebhookRetryTable {
    /// The wait after the first, second, … charged failure.
    static let delays: [Duration] = [
        .seconds(5), .seconds(300), .seconds(1800), .seconds(2 * 3600), .seconds(5 * 3600), .seconds(10 * 3600),
        .seconds(14 * 3600), .seconds(20 * 3600), .seconds(24 * 3600),
    ]
    /// The share by which a wait is randomly made shorter or longer.
    static let jitter = 0.25
    /// The retry limit of a command: failures charged before it is given up.
    static var retryLimit: Int { delays.count }

    /// How long to wait before the next attempt.
    /// - Parameters:
    ///   - retries: failures charged before this one. A failure of the link is not charged.
    ///   - retryAfter: the minimum that the receiver asked for.
    ///   - chance: a number in 0..<1 that decides the jitter.
    /// - Returns: nil after the last attempt.
    static func delay(retries: Int, retryAfter: Duration?, chance: Double) -> Duration? {
        guard retries < delays.count else { return nil }
        // A number beyond 0…1, or NaN, must not trap below.
        let chance = chance >= 0 ? min(chance, 1) : 0
        let seconds = delays[max(retries, 0)].seconds * (1 + jitter * (2 * chance - 1))
        return max(.milliseconds(Int64(seconds * 1000)), retryAfter ?? .zero)
    }
}
