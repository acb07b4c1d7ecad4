internal import Commands
internal import HTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import Work

extension HTTPTransport: RequestTransport {}

/// The requests of one upload. All of them carry its headers and its credential, and those that make something the id of its
/// command.
struct UploadRequests: Sendable {
    var upload: UploadPayload
    let execution: CommandExecution
    let credential: (name: String, value: String)?
    let transport: any RequestTransport
    let evidence: DestinationEvidence
    /// Bodies wait for the destination's word: it has refused the last one for a reason of its own.
    var expectsContinue = false

    /// Kept connections that one request may find closed.
    private static let connectionsTried = 4

    /// Sends one request and waits for its end; again where a kept connection turned out to be closed. The rest of a file
    /// is not sent again that way: how much of it has arrived must be asked for first.
    /// - Parameters:
    ///   - own: headers of this request; they win over those of the payload.
    ///   - withheld: names, in lower case, of headers in the payload that are not meant for this request.
    func send(
        _ method: HTTPMethod, _ url: UploadURL, _ own: [(name: String, value: String)] = [],
        withholding withheld: Set<String> = [], body: HTTPTransfer.Body = .none, from start: Int64 = 0, size: Int64 = 0
    ) async -> HTTPRecord {
        let headers = headers(method, own, withheld)
        let isRest = if case .unread = body { true } else { false }
        var manner = RequestManner(expectsContinue: expectsContinue)
        var record = HTTPRecord()
        for _ in 1...Self.connectionsTried {
            record = await transport.send(
                method, url, headers: headers, body: body, range: start..<max(start, size), manner, for: execution)
            guard !Task.isCancelled, mayTryAgain(after: record, manner, isRest: isRest) else { break }
            if record.head != nil { manner.isFresh = true }
        }
        // A gateway or a cache may answer a question while the server behind it answers 503 to everything.
        if let status = record.status, [.PUT, .POST, .PATCH].contains(method) {
            evidence.answered(status, to: execution.id, at: url.destination)
        }
        secrets.redact(&record, except: ["location", "set-cookie"])
        return record
    }

    private var secrets: SecretValues {
        SecretValues(credential: credential?.value, headers: upload.headers.map { ($0.name, $0.value) })
    }

    /// What is kept of a response when nothing of it is needed any more, as JSON.
    func result(_ record: HTTPRecord, removal: SourceRemoval?) -> [UInt8] {
        var record = record
        secrets.redact(&record)
        return HTTPResult.json(record, removal: removal)
    }

    private func mayTryAgain(after record: HTTPRecord, _ manner: RequestManner, isRest: Bool) -> Bool {
        switch record.status {
        // RFC 9110, section 9.2.2: a connection that was closed while it was idle is no failure of the request.
        case nil: record.wasNeverSeen || execution.command.idempotent && !isRest && record.metStaleConnection
        // Section 15.5.9: the server was about to close a connection that it took for idle.
        case 408?: !isRest && record.usedKeptConnection
        // Section 15.5.20: this connection is not the right one for the origin; another may be.
        case 421?: !isRest && !manner.isFresh
        default: false
        }
    }

    /// What a request that did not succeed comes to; nil for success.
    func failure(_ record: HTTPRecord, of method: HTTPMethod, _ url: UploadURL) -> (any Error)? {
        let verdict = HTTPVerdict(
            request: "\(method.rawValue) \(url.textForPeople)", destination: url.destination, now: .now)
        guard var failure = verdict.failure(record) else { return nil }
        failure = evidence.judge(
            failure, of: execution.id, at: url.destination, redirectedTo: Self.otherDestination(record, url),
            since: record.startedAt)
        // A question makes nothing, whether it was heard or not.
        let isQuestion = method == .OPTIONS
        if isQuestion { failure.ambiguous = false }
        guard Task.isCancelled, record.head == nil || record.error is CancellationError else { return failure }
        if record.began && !isQuestion { return CancellationError() }
        return UploadOperation.stopped(verdict.request)
    }

    /// Where a redirect to another destination leads.
    private static func otherDestination(_ record: HTTPRecord, _ url: UploadURL) -> Destination? {
        guard let status = record.status, (300..<400).contains(status), let location = record.header("location"),
            let target = url.resolving(location)?.destination, target != url.destination
        else { return nil }
        return target
    }

    /// As ``failure(_:of:_:)``, where another time may bring another answer. A server that does not know the method (501,
    /// as 405) never will.
    func passingFailure(_ record: HTTPRecord, of method: HTTPMethod, _ url: UploadURL) -> (any Error)? {
        if record.status == 501 { return nil }
        let failure = failure(record, of: method, url)
        return (failure as? CommandFailure)?.fault == .final ? nil : failure
    }

    /// The type of the file. What the producer says in a header is more precise.
    var contentType: [(name: String, value: String)] {
        guard !upload.headers.contains(where: { $0.name.lowercased() == "content-type" }) else { return [] }
        return [("Content-Type", MediaType.of(fileName: upload.fileName))]
    }

    private func headers(
        _ method: HTTPMethod, _ own: [(name: String, value: String)], _ withheld: Set<String>
    ) -> HTTPHeaders {
        var headers = HTTPHeaders()
        headers.reserveCapacity(upload.headers.count + own.count + 4)
        // Of requests that make something; a string of structured fields (RFC 9651): quoted.
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
