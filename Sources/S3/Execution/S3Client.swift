package import Commands
package import HTTPClient
internal import NIOCore
internal import NIOHTTP1
package import Operations
package import Transfers

/// Sends the requests of one execution to an endpoint. Each attempt is signed anew, and ``S3Verdict`` decides
/// what an answer means.
package struct S3Client: Sendable {
    /// The right to write or read.
    package enum Authority: Sendable {
        case accessKey(S3AccessKey, region: String)
        case presigned(S3PresignedURL)
    }

    /// The answer to a request, as far as it does not end the execution.
    enum Outcome<Value: Sendable & Equatable>: Sendable {
        case accepted(Value)
        case decided(S3Decision, S3Refusal)
    }

    package let execution: CommandExecution
    /// `https://s3.example.com`, or with virtual addressing `https://media.s3.example.com`.
    package let origin: String
    /// The endpoint as it was submitted; the destination of the command.
    package let endpoint: Destination
    package let authority: Authority
    package let signatures: S3Signatures
    package let transport: any RequestTransport
    package let evidence: DestinationEvidence

    package init(
        execution: CommandExecution, origin: String, endpoint: Destination, authority: Authority,
        signatures: S3Signatures, transport: any RequestTransport, evidence: DestinationEvidence
    ) {
        self.execution = execution
        self.origin = origin
        self.endpoint = endpoint
        self.authority = authority
        self.signatures = signatures
        self.transport = transport
        self.evidence = evidence
    }

    /// Sends a request, a second time where the clock has to be corrected.
    /// - Parameter read: makes the answer of the response.
    /// - Throws: ``CommandFailure`` where no answer came or it cannot be read; `CancellationError`.
    func send<Value>(
        _ request: AWSRequest, body: S3Body = .none, _ attempt: S3Attempt,
        _ read: (S3Response) -> S3Answer<Value>
    ) async throws -> Outcome<Value> {
        var attempt = attempt
        while true {
            let url = try url(of: request)
            let (record, sender) = try await exchange(request, body, url, attempt.step)
            guard let status = record.status, !(200..<300).contains(status) || record.sentAll else {
                throw sender.failure(record, of: HTTPMethod(rawValue: request.method), url)
                    ?? CommandFailure.stopped("\(request.method) \(url.displayText)")
            }
            let verdict = S3Verdict(
                request: Self.name(request, url, attempt.step), destination: endpoint, now: .now)
            switch read(S3Response(record, status: status)) {
            case .accepted(let value): return .accepted(value)
            case .unreadable(let problem):
                throw verdict.failure(unreadable: problem, status: status, attempt.step)
            case .refused(let refusal):
                switch verdict.decision(refusal, attempt) {
                case .correctClock(let offset):
                    signatures.correct(offset, of: endpoint)
                    attempt.hasCorrectedClock = true
                case .fail(let failure):
                    let isOfAll = attempt.authority == .credential && Self.refusalsOfAll.contains(refusal.code ?? "")
                    let judged = evidence.judge(
                        failure, of: execution.id, at: url.destination,
                        refusal: isOfAll ? .init(refusal.status, (refusal.code ?? "").utf8) : nil,
                        since: record.startedAt)
                    return .decided(.fail(judged), refusal)
                case let decision: return .decided(decision, refusal)
                }
            }
        }
    }

    /// Codes that concern the bucket or the access key, and so every command alike. The code is
    /// compared, because the bytes of an answer contain the id of its request.
    private static let refusalsOfAll: Set<String> = ["AccessDenied", "NoSuchBucket"]

    /// Aborts of one upload, because a part in flight may arrive after one.
    private static let maxAborts = 3

    /// The state of an upload after its abort.
    enum Abortion: Sendable {
        case gone
        /// Parts that were in flight are still listed.
        case hasParts
        case refused(CommandFailure?, S3Refusal)
    }

    /// Deletes an upload until no part of it is listed.
    /// - Throws: as ``send(_:body:_:_:)``.
    @discardableResult
    func abort(_ uploadID: String, _ requests: S3Requests) async throws -> Abortion {
        for _ in 0..<Self.maxAborts {
            switch try await send(requests.abort(uploadID), S3Attempt(.abort), { $0.abortion() }) {
            case .accepted: break
            // With its bucket the upload is gone too.
            case .decided(_, let refusal) where refusal.code == "NoSuchBucket": return .gone
            case .decided(.fail(let failure), let refusal): return .refused(failure, refusal)
            case .decided(_, let refusal): return .refused(nil, refusal)
            }
            // A key without the right to list parts: the abort was accepted.
            let list = try await send(requests.listParts(uploadID), S3Attempt(.listParts)) { $0.partPage() }
            guard case .accepted(let page) = list, !page.parts.isEmpty else { return .gone }
        }
        return .hasParts
    }

    /// The longest time that a command which has ended is held by the abort of its upload.
    private static let maxAbortTime: Duration = .seconds(2)

    /// Deletes an upload that no execution will use, as far as that is possible in 2 s. It also runs in a task
    /// that is cancelled.
    /// - Returns: false where the upload may still exist; a `cleanup` then aborts it.
    func discard(_ uploadID: String, _ requests: S3Requests) async -> Bool {
        await Task.detached {
            await withTaskGroup(of: Bool.self) { group in
                group.addTask {
                    guard case .gone? = try? await abort(uploadID, requests) else { return false }
                    return true
                }
                group.addTask {
                    try? await Task.sleep(for: Self.maxAbortTime)
                    return false
                }
                let isGone = await group.next() ?? false
                group.cancelAll()
                return isGone
            }
        }.value
    }

    /// The request in messages: `PUT https://s3.example.com/media/a.mp4, part 3`.
    private static func name(_ request: AWSRequest, _ url: ResourceURL, _ step: S3Step) -> String {
        let name = "\(request.method) \(url.displayText)"
        return switch step {
        case .part(let number): "\(name), part \(number)"
        case .create: "\(name) (a new multipart upload)"
        case .complete: "\(name) (the completion)"
        case .listParts: "\(name) (the list of parts)"
        case .listUploads: "\(name) (the list of uploads)"
        case .put, .abort, .head, .get: name
        }
    }

    private func url(of request: AWSRequest) throws(CommandFailure) -> ResourceURL {
        if case .presigned(let presigned) = authority { return presigned.url }
        do throws(PayloadError) {
            return try ResourceURL(origin + S3Path.target(request.path, request.query))
        } catch {
            throw CommandFailure(.final, reason: error.message)
        }
    }

    private func exchange(
        _ request: AWSRequest, _ body: S3Body, _ url: ResourceURL, _ step: S3Step
    ) async throws -> (HTTPRecord, RequestSender) {
        // As headers of the payload, the signature and the token are redacted where the answer repeats them.
        let sender = RequestSender(
            execution: execution, headers: try await headers(request, body), credential: nil, transport: transport,
            evidence: evidence, isConfined: false)
        var parts = RequestSender.Parts(HTTPMethod(rawValue: request.method), url)
        parts.headers = [("Accept-Encoding", "identity")]
        (parts.body, parts.range) = (body.content, body.range)
        // The endpoint works on a completion for minutes, and sends white space meanwhile.
        parts.needsAnswer = step == .complete
        parts.answerLimit = HTTPTransfer.maxResponseBody
        return (await sender.send(parts), sender)
    }

    private func headers(_ request: AWSRequest, _ body: S3Body) async throws -> [HTTPField] {
        try await signed(request, body.hash)
    }

    /// The headers of a request with its signature; those of a presigned URL stay as they are.
    package func signed(_ request: AWSRequest, _ payload: AWSPayloadHash = .empty) async throws -> [HTTPField] {
        guard case .accessKey(let accessKey, let region) = authority else { return request.headers }
        let credential = try await Self.credential(accessKey, of: endpoint)
        return signatures.headers(
            for: request, payload: payload, by: AWSSigner(credential: credential, region: region), at: endpoint,
            now: .now)
    }

    /// Reads the secrets, for each request anew.
    private static func credential(_ key: S3AccessKey, of endpoint: Destination) async throws -> AWSCredential {
        func unusable(_ why: String) -> CommandFailure {
            CommandFailure(.credential, reason: "no access key for \(endpoint): \(why)")
        }
        let values: S3AccessKey.Values
        do {
            values = try await BlockingIO.sources.run { try key.read() }
        } catch is CancellationError {
            throw CommandFailure.stopped("the request to \(endpoint)")
        } catch {
            throw unusable(error.words)
        }
        if let objection = AWSCredential.objection(toAccessKey: values.id) { throw unusable(objection) }
        return AWSCredential(accessKey: values.id, secretKey: values.secret, sessionToken: values.token)
    }
}

extension CredentialStore {
    /// The access key of an endpoint, as the right of a client.
    /// - Throws: ``CommandFailure`` `credential` where there is none.
    package func authority(at endpoint: Destination, region: String) throws(CommandFailure) -> S3Client.Authority {
        guard let key = accessKey(for: endpoint) else {
            throw CommandFailure(
                .credential,
                reason:
                    "there is no access key for \(endpoint); add a credential with s3AccessKey and s3SecretFile, with "
                    + "s3Profile or with s3Environment to sluice.yaml, and restart the workers; “sluice config check” says "
                    + "which keys are found")
        }
        return .accessKey(key, region: region)
    }
}

extension S3Response {
    /// The response of a record.
    package init(_ record: HTTPRecord, status: Int) {
        self.init(status: status)
        headers = record.head?.headers.map { HTTPField($0.name, $0.value) } ?? []
        body = Array(record.body.readableBytesView)
        isWhole = record.isComplete && record.bodyBytes == body.count
    }
}

/// The body of a request to S3.
struct S3Body: Sendable {
    var content = HTTPTransfer.Body.none
    /// The bytes of the file that are the body; of a whole body their number counts.
    var range: Range<Int64> = 0..<0
    var hash = AWSPayloadHash.empty

    static let none = S3Body()
}
