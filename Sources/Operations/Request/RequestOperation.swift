package import Commands
internal import HTTPClient
internal import NIOCore
internal import NIOHTTP1
package import Work

/// Sends one HTTP request of any method, and keeps the answer as the result. See ``RequestPayload``.
///
/// ``RedirectRules`` says which redirects are followed. An answer 303 to a method other than GET and HEAD
/// means that the action was done (RFC 9110, section 15.4.4): a success, whose location is kept.
package struct RequestOperation: CommandOperation {
    package let type = CommandType.request

    let transport: any RequestTransport
    let credentials: CredentialStore
    let evidence: DestinationEvidence

    init(transport: any RequestTransport, credentials: CredentialStore, evidence: DestinationEvidence) {
        self.transport = transport
        self.credentials = credentials
        self.evidence = evidence
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
        var attributes = PayloadAttributes(
            destination: request.url.destination, idempotent: request.isIdempotent, total: total, payload: request.json)
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
        var redirects = RedirectRules(request.url, method: request.method, maxRedirects: request.maxRedirects)
        let body = try await body(of: request)
        let deadline = request.timeout > .zero ? ContinuousClock.now + request.timeout : nil
        while true {
            let sender = try await sender(request, redirects, execution)
            let record = try await Self.send(parts(request, redirects, body), by: sender, until: deadline, request)
            if let status = record.status {
                evidence.recordAnswer(status, to: execution.id, at: redirects.url.destination)
                if !request.accept.contains(status) {
                    switch redirects.step(status: status, location: record.header("location")) {
                    case .none: break
                    case .follow: continue
                    case .done: return success(record, request, redirects, sender)
                    case .refused(let failure): throw failure
                    }
                }
            }
            return try result(of: record, request, redirects, sender)
        }
    }

    private func parts(
        _ request: RequestPayload, _ redirects: RedirectRules, _ body: (content: HTTPTransfer.Body, size: Int64)
    ) -> RequestSender.Parts {
        var parts = RequestSender.Parts(HTTPMethod(rawValue: request.method), redirects.url)
        (parts.body, parts.range, parts.needsAnswer) = (body.content, 0..<body.size, true)
        if let type = request.contentType, !request.headers.contains(where: { $0.isNamed("content-type") }) {
            parts.headers.append(("Content-Type", type))
        }
        return parts
    }

    /// - Throws: the failure of the request, unless its answer is a success.
    private func result(
        of record: HTTPRecord, _ request: RequestPayload, _ redirects: RedirectRules, _ sender: RequestSender
    ) throws -> [UInt8] {
        let failure = sender.failure(record, of: HTTPMethod(rawValue: request.method), redirects.url)
        let what = "\(request.method) \(redirects.url.displayText)"
        guard let status = record.status else { throw failure ?? CommandFailure.stopped(what) }
        if request.accept.contains(status) {
            // 2xx before the whole body was sent, and then cut off.
            if let failure, (200..<300).contains(status) { throw failure }
            return success(record, request, redirects, sender)
        }
        // An earlier execution has deleted it, and its answer was lost.
        if request.method == "DELETE", status == 404 || status == 410, sender.execution.claim > 1 {
            return success(record, request, redirects, sender, alreadyGone: true)
        }
        throw failure
            ?? CommandFailure(
                .final,
                reason: "\(what) was answered \(status), which is not among the accepted statuses "
                    + "(\(request.accept.text))")
    }

    private func success(
        _ record: HTTPRecord, _ request: RequestPayload, _ redirects: RedirectRules, _ sender: RequestSender,
        alreadyGone: Bool = false
    ) -> [UInt8] {
        evidence.recordSuccess(at: request.url.destination)
        var extras = HTTPResult.Extras(keepHeaders: request.keepHeaders)
        if redirects.hasRedirected { extras.url = redirects.url.displayText }
        extras.alreadyGone = alreadyGone
        return sender.result(record, extras)
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
                let file = try await BlockingIO.sources.run(at: path) {
                    try SourceFile(unchanged: path, request.source)
                }
                return (.unread(file), file.identity.size)
            } catch is CancellationError {
                throw CommandFailure.stopped("the request to \(request.url.displayText)")
            }
        }
    }

    private func sender(
        _ request: RequestPayload, _ redirects: RedirectRules, _ execution: CommandExecution
    ) async throws -> RequestSender {
        let headers = request.headers.filter { redirects.sends(field: $0.name) }
        let credential = try await credentials.field(for: redirects.credentialDestination, unlessIn: headers)
        return RequestSender(
            execution: execution, headers: headers, credential: credential, transport: transport, evidence: evidence)
    }

    // MARK: The time limit

    /// - Parameter deadline: nil: the request may take as long as bytes move.
    /// - Throws: ``CommandFailure`` where it has passed before the answer was complete.
    private static func send(
        _ parts: RequestSender.Parts, by sender: RequestSender, until deadline: ContinuousClock.Instant?,
        _ request: RequestPayload
    ) async throws -> HTTPRecord {
        guard let deadline else { return await sender.send(parts) }
        let record = await withTaskGroup(of: HTTPRecord?.self) { group in
            group.addTask { await sender.send(parts) }
            group.addTask {
                try? await Task.sleep(until: deadline)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            guard first == nil else { return first }
            return await group.next() ?? nil
        }
        guard let record else { throw CommandFailure.stopped("\(request.method) \(parts.url.displayText)") }
        guard record.error is CancellationError, !Task.isCancelled else { return record }
        throw CommandFailure(
            .command,
            reason: "\(request.method) \(parts.url.displayText) did not end within "
                + "\(request.timeout.milliseconds / 1000) s (“timeout”)", ambiguous: record.mayHaveSent)
    }
}
