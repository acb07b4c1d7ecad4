package import Commands
package import HTTPClient
internal import NIOCore
internal import NIOHTTP1
package import Operations
package import Transfers

/// Sends one HTTP request of any method, and keeps the answer as the result. See ``RequestPayload``.
///
/// ``RedirectRules`` says which redirects are followed. An answer 303 to a method other than GET and HEAD may mean
/// that the action was done (RFC 9110, section 15.4.4), or that a person has to log in. So it is a success only where
/// the payload accepts 303; its location is kept.
package struct RequestOperation: CommandOperation {
    package let type = CommandType.request
    package var rule: PayloadRule { PayloadRule(destination: "/url") }

    let transport: any RequestTransport
    let credentials: CredentialStore
    let evidence: DestinationEvidence
    /// Permissions that no saved file gets.
    let umask: UInt32
    /// The responses that a request may make stale; nil: none are kept.
    package var responses: (any ResponseInvalidation)?
    /// Of the files of confined requests.
    package var confinement = Confinement()

    package init(
        transport: any RequestTransport, credentials: CredentialStore, evidence: DestinationEvidence, umask: UInt32 = 0
    ) {
        self.transport = transport
        self.credentials = credentials
        self.evidence = evidence
        self.umask = umask
    }

    // MARK: Submit

    package func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        var request = try RequestPayload(payload)
        var total: Int64 = 0
        if case .file(let path) = request.body {
            let absolute = try path.absolutePath()
            let source = try SourceFile(path: absolute, requiringSize: true).identity
            if let recorded = request.source, let difference = source.difference(from: recorded) {
                throw PayloadError(.source, "\(absolute) is not the file that “source” describes: \(difference)")
            }
            request.body = .file(absolute)
            request.source = source
            total = source.size
        }
        request.saveTo = try request.saveTo.map { path throws(PayloadError) in try path.absolutePath() }
        var attributes = PayloadAttributes(
            destination: request.url.fileDestination, idempotent: request.isIdempotent, total: total,
            payload: request.json)
        attributes.identity = request.identity
        return attributes
    }

    // MARK: Execution

    package func execute(_ execution: CommandExecution) async throws -> [UInt8]? {
        let request: RequestPayload
        do {
            request = try RequestPayload(try JSONValue(parsing: execution.payload))
        } catch {
            throw CommandFailure(.final, reason: "the payload of this request cannot be used: \(error)")
        }
        guard let path = request.saveTo else { return try await execute(request, execution, saved: nil) }
        let saved: SavedResponse
        do {
            saved = try await SavedResponse(
                at: try path.absolutePath(), of: request.url, maxBytes: request.maxBody, umask: umask, execution)
        } catch let error as PayloadError {
            throw CommandFailure(.final, reason: "\(error)")
        } catch is CancellationError {
            throw CommandFailure.stopped("the request to \(request.url.displayText)")
        }
        do {
            return try await execute(request, execution, saved: saved)
        } catch {
            await saved.remove()
            throw error
        }
    }

    private func execute(
        _ request: RequestPayload, _ execution: CommandExecution, saved: SavedResponse?
    ) async throws -> [UInt8] {
        let deadline = request.timeout > .zero ? ContinuousClock.now + request.timeout : nil
        let chain = RedirectedRequest(
            execution: execution, headers: request.headers, transport: transport, credentials: credentials,
            evidence: evidence, isConfined: request.isConfined)
        let response = try await chain.send(
            try await parts(request), maxRedirects: request.maxRedirects,
            isFinal: { request.accept.contains($0) },
            reader: saved.map(Self.reader),
            by: { try await Self.send($1, by: $0, until: deadline, request) })
        if request.method == "DELETE", response.record.status == nil, response.record.mayHaveSent {
            try await execution.saveCheckpoint(Array(#"{"sent":true}"#.utf8))
        }
        return try await result(of: response, request, saved)
    }

    private static func reader(into saved: SavedResponse) -> @Sendable (RedirectRules) -> ResponseReader {
        let reader: ResponseReader = { _, body in try await saved.read(body) }
        return { _ in reader }
    }

    private func parts(_ request: RequestPayload) async throws -> RequestSender.Parts {
        let (content, size) = try await body(of: request)
        var parts = RequestSender.Parts(HTTPMethod(rawValue: request.method), request.url)
        (parts.body, parts.range, parts.needsAnswer, parts.decodesAnswer) = (content, 0..<size, true, !request.isRaw)
        if let type = request.contentType, !request.headers.contains(where: { $0.isNamed("content-type") }) {
            parts.headers.append(("Content-Type", type))
        }
        return parts
    }

    /// - Throws: the failure of the request, unless its answer is a success.
    private func result(
        of response: RedirectedRequest.Response, _ request: RequestPayload, _ saved: SavedResponse?
    ) async throws -> [UInt8] {
        let (record, url) = (response.record, response.redirects.url)
        let failure = response.sender.failure(record, of: HTTPMethod(rawValue: request.method), url)
        let what = "\(request.method) \(url.displayText)"
        guard let status = record.status else { throw failure ?? CommandFailure.stopped(what) }
        if request.accept.contains(status) {
            // 2xx before the whole body was sent, and then cut off.
            if let failure, (200..<300).contains(status) { throw failure }
            if var failure = record.codingFailure {
                failure.ambiguous = true
                throw failure
            }
            if let failure = Self.cutOff(record, what, saved) { throw failure }
            return try await success(response, request, saved)
        }
        if request.method == "DELETE", status == 404 || status == 410, Self.mayHaveDeleted(response.sender.execution) {
            return try await success(response, request, nil, alreadyGone: true)
        }
        throw failure
            ?? CommandFailure(
                .final,
                reason: "\(what) was answered \(status), which is not among the accepted statuses "
                    + "(\(request.accept.text))")
    }

    /// The failure of an answer whose body is not whole. A request that may not be repeated has an unknown end.
    private static func cutOff(_ record: HTTPRecord, _ what: String, _ saved: SavedResponse?) -> (any Error)? {
        guard saved == nil, !record.isComplete, !record.hasEnough else { return nil }
        if record.error is CancellationError { return CancellationError() }
        var failure = CommandFailure(
            cutOff:
                "\(what) was answered \(record.status ?? 0), but the body was cut off after \(record.bodyBytes) bytes",
            by: record.error)
        failure.ambiguous = true
        if failure.fault == .reset {
            failure.bodyEnd = ProgressCounter.BodyEnd(
                offset: Int64(record.receivedBytes), length: record.header("content-length").flatMap { Int64($0) })
        }
        return failure
    }

    private func success(
        _ response: RedirectedRequest.Response, _ request: RequestPayload, _ saved: SavedResponse?,
        alreadyGone: Bool = false
    ) async throws -> [UInt8] {
        var extras = HTTPResult.Extras(keepHeaders: request.keepHeaders)
        if let saved, (200..<300).contains(response.record.status ?? 0) {
            extras.saved = try await Self.publish(saved, response.record)
        } else {
            await saved?.remove()
        }
        evidence.recordSuccess(at: request.url.destination)
        if let head = response.record.head {
            await responses?.invalidate(
                method: request.method, response.redirects.url,
                ResponseHead(status: Int(head.status.code), headers: HeaderFields(head.headers)))
        }
        if response.redirects.hasRedirected { extras.url = response.redirects.url.displayText }
        extras.alreadyGone = alreadyGone
        return response.sender.result(response.record, extras)
    }

    /// Whether the answer to an earlier DELETE of the command was lost.
    private static func mayHaveDeleted(_ execution: CommandExecution) -> Bool {
        execution.checkpoint != nil || execution.command.crashes > 0
    }

    /// - Throws: a failure that is ambiguous, because the request was answered.
    private static func publish(_ saved: SavedResponse, _ record: HTTPRecord) async throws -> JSONValue {
        if record.error is CancellationError { throw CancellationError() }
        do {
            return try await saved.publish(isComplete: record.isComplete)
        } catch var failure as CommandFailure {
            failure.ambiguous = true
            throw failure
        }
    }

    private func body(of request: RequestPayload) async throws -> (content: HTTPTransfer.Body, size: Int64) {
        func whole(_ bytes: some Sequence<UInt8>) -> (content: HTTPTransfer.Body, size: Int64) {
            let buffer = ByteBuffer(bytes: bytes)
            return (.whole(buffer), Int64(buffer.readableBytes))
        }
        switch request.body {
        case .none: return (.none, 0)
        case .text(let text): return whole(text.utf8)
        case .json(let value): return whole(value.bytes)
        case .base64(let bytes): return whole(bytes)
        case .file(let path):
            do {
                let file = try await BlockingIO.sources.run(at: path) { [directories = confinement.sources] in
                    try SourceFile(
                        unchanged: path, request.source, beneath: request.isConfined ? directories : nil)
                }
                return (.unread(file), file.identity.size)
            } catch is CancellationError {
                throw CommandFailure.stopped("the request to \(request.url.displayText)")
            }
        }
    }

    // MARK: The time limit

    /// - Parameter deadline: nil: the request may take as long as bytes move.
    /// - Throws: ``CommandFailure`` where it has passed before the answer was complete.
    private static func send(
        _ parts: RequestSender.Parts, by sender: RequestSender, until deadline: ContinuousClock.Instant?,
        _ request: RequestPayload
    ) async throws -> HTTPRecord {
        guard let deadline else { return await sender.send(parts) }
        let (record, isLate) = await sender.send(parts, until: deadline)
        guard isLate else { return record }
        throw CommandFailure(
            .command,
            reason: "\(request.method) \(parts.url.displayText) did not end within "
                + "\(request.timeout.milliseconds / 1000) s (“timeout”)", ambiguous: record.mayHaveSent)
    }
}
