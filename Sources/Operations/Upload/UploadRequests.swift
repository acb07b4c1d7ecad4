internal import Commands
internal import HTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import Work

/// The requests of one upload. All carry its headers and its credential; PUT and POST also carry the id of
/// the command.
struct UploadRequests: Sendable {
    var upload: UploadPayload
    let execution: CommandExecution
    let credential: (name: String, value: String)?
    let transport: any RequestTransport
    let evidence: DestinationEvidence
    /// Bodies wait for `100 Continue`, because the destination refused the last one for a reason of its own.
    var expectsContinue = false

    /// The maximum attempts of a request that finds kept connections closed.
    private static let connectionsTried = 4

    /// Sends one request and waits for its end. Sends it again if a kept connection turned out to be closed,
    /// but not with the rest of a file: the offset must be queried first.
    /// - Parameters:
    ///   - own: headers of this request. They replace those of the payload.
    ///   - withheld: names, in lower case, of headers of the payload that this request must not carry.
    func send(
        _ method: HTTPMethod, _ url: UploadURL, _ own: [(name: String, value: String)] = [],
        withholding withheld: Set<String> = [], body: HTTPTransfer.Body = .none, from start: Int64 = 0, size: Int64 = 0
    ) async -> HTTPRecord {
        let headers = headers(method, own, withheld)
        let isRest = if case .unread = body { true } else { false }
        var options = RequestOptions(expectsContinue: expectsContinue)
        var record = HTTPRecord()
        for _ in 1...Self.connectionsTried {
            record = await transport.send(
                method, url, headers: headers, body: body, range: start..<max(start, size), options, for: execution)
            guard !Task.isCancelled, shouldResend(after: record, options, isRest: isRest) else { break }
            if record.head != nil { options.usesNewConnection = true }
        }
        // A gateway or a cache may answer a query while the server behind it answers 503 to everything.
        if let status = record.status, [.PUT, .POST, .PATCH].contains(method) {
            evidence.recordAnswer(status, to: execution.id, at: url.destination)
        }
        secrets.redact(&record, except: ["location", "set-cookie"])
        return record
    }

    private var secrets: SecretValues {
        SecretValues(credential: credential?.value, headers: upload.headers.map { ($0.name, $0.value) })
    }

    /// The stored form of a response that no later request needs, as JSON.
    func result(_ record: HTTPRecord, removal: SourceRemovalResult?) -> [UInt8] {
        var record = record
        secrets.redact(&record)
        return HTTPResult.json(record, removal: removal)
    }

    private func shouldResend(after record: HTTPRecord, _ options: RequestOptions, isRest: Bool) -> Bool {
        switch record.status {
        // RFC 9110, section 9.2.2: the close of an idle connection is not a failure of the request.
        case nil: record.wasNeverSeen || execution.command.idempotent && !isRest && record.failedOnStaleConnection
        // Section 15.5.9: the server was about to close an idle connection.
        case 408?: !isRest && record.usedKeptConnection
        // Section 15.5.20: this connection is not the right one for the origin; another may be.
        case 421?: !isRest && !options.usesNewConnection
        default: false
        }
    }

    /// The failure of a request; nil for success.
    func failure(_ record: HTTPRecord, of method: HTTPMethod, _ url: UploadURL) -> (any Error)? {
        let verdict = HTTPVerdict(
            request: "\(method.rawValue) \(url.displayText)", destination: url.destination, now: .now)
        guard var failure = verdict.failure(record) else { return nil }
        failure = evidence.judge(
            failure, of: execution.id, at: url.destination, redirectedTo: Self.otherDestination(record, url),
            since: record.startedAt)
        // A query has no effect, whether it has arrived or not.
        let isQuery = method == .OPTIONS
        if isQuery { failure.ambiguous = false }
        guard Task.isCancelled, record.head == nil || record.error is CancellationError else { return failure }
        if record.mayHaveSent && !isQuery { return CancellationError() }
        return UploadOperation.stopped(verdict.request)
    }

    /// The destination of a redirect, if it is another one.
    private static func otherDestination(_ record: HTTPRecord, _ url: UploadURL) -> Destination? {
        guard let status = record.status, (300..<400).contains(status), let location = record.header("location"),
            let target = url.resolving(location)?.destination, target != url.destination
        else { return nil }
        return target
    }

    /// As ``failure(_:of:_:)``, but nil for a failure that will not pass. A server that does not support the
    /// method (501, as 405) never will.
    func transientFailure(_ record: HTTPRecord, of method: HTTPMethod, _ url: UploadURL) -> (any Error)? {
        if record.status == 501 { return nil }
        let failure = failure(record, of: method, url)
        return (failure as? CommandFailure)?.fault == .final ? nil : failure
    }

    /// `Content-Type` by the name of the file, unless the payload sets it.
    var contentType: [(name: String, value: String)] {
        guard !upload.headers.contains(where: { $0.name.lowercased() == "content-type" }) else { return [] }
        return [("Content-Type", MediaType.of(fileName: upload.fileName))]
    }

    private func headers(
        _ method: HTTPMethod, _ own: [(name: String, value: String)], _ withheld: Set<String>
    ) -> HTTPHeaders {
        var headers = HTTPHeaders()
        headers.reserveCapacity(upload.headers.count + own.count + 4)
        // A string of structured fields (RFC 9651) is quoted.
        if method == .PUT || method == .POST {
            headers.add(name: "Idempotency-Key", value: "\"\(execution.id)\"")
        }
        for header in upload.headers where !withheld.contains(header.name.lowercased()) {
            headers.add(name: header.name, value: header.value)
        }
        if !headers.contains(name: "user-agent") { headers.add(name: "User-Agent", value: "sluice") }
        for header in own { headers.replaceOrAdd(name: header.name, value: header.value) }
        if let credential { headers.replaceOrAdd(name: credential.name, value: credential.value) }
        return headers
    }
}
