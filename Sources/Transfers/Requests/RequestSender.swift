package import Commands
package import HTTPClient
internal import NIOCore
package import NIOHTTP1
package import Operations

/// Sends the requests of one execution. All carry the headers of its payload and its credential. Those that
/// have an effect also carry the id of the command.
package struct RequestSender: Sendable {
    package let execution: CommandExecution
    /// Of the payload.
    package let headers: [HTTPField]
    package let credential: (name: String, value: String)?
    package let transport: any RequestTransport
    package let evidence: DestinationEvidence
    /// Whether ``Confinement`` holds for the command.
    package let isConfined: Bool
    /// Bodies wait for `100 Continue`, because the destination refused the last one for a reason of its own.
    package var expectsContinue = false

    package init(
        execution: CommandExecution, headers: [HTTPField], credential: (name: String, value: String)?,
        transport: any RequestTransport, evidence: DestinationEvidence, isConfined: Bool, expectsContinue: Bool = false
    ) {
        self.execution = execution
        self.headers = headers
        self.credential = credential
        self.transport = transport
        self.evidence = evidence
        self.isConfined = isConfined
        self.expectsContinue = expectsContinue
    }

    /// One request, beside what all requests of the execution carry.
    package struct Parts: Sendable {
        var method: HTTPMethod
        package var url: ResourceURL
        /// They replace those of the payload.
        package var headers: [(name: String, value: String)] = []
        /// Names, in lower case, of headers of the payload that this request must not carry.
        package var withheld: Set<String> = []
        package var body = HTTPTransfer.Body.none
        /// The bytes of the file that are the body.
        package var range: Range<Int64> = 0..<0
        /// The body is the rest of a file: it is not sent again before the offset was queried.
        package var isRest = false
        /// The purpose of the request is its answer: reading it may take as long as bytes move.
        package var needsAnswer = false
        /// The content coding of the answer is taken off.
        package var decodesAnswer = false
        /// The maximum bytes of the answer's body that are stored in the record; at most
        /// ``HTTPTransfer/maxResponseBody``.
        package var answerLimit = HTTPTransfer.bodyLimit
        /// Reads the body of a successful response; nil: its start is stored in the record.
        package var reader: ResponseReader?

        package init(_ method: HTTPMethod, _ url: ResourceURL) {
            self.method = method
            self.url = url
        }
    }

    /// The maximum attempts of a request that finds kept connections closed.
    private static let connectionsTried = 4

    /// Sends one request and waits for its end. Sends it again if a kept connection turned out to be closed,
    /// but not with the rest of a file: the offset must be queried first.
    package func send(_ parts: Parts) async -> HTTPRecord {
        let fields = fields(parts)
        var options = RequestOptions(expectsContinue: expectsContinue, isConfined: isConfined)
        var record = HTTPRecord()
        for _ in 1...Self.connectionsTried {
            record = await transport.send(parts, fields, options, for: execution)
            guard !Task.isCancelled, shouldResend(after: record, options, isRest: parts.isRest) else { break }
            if record.head != nil { options.usesNewConnection = true }
        }
        // A gateway or a cache may answer a query while the server behind it answers 503 to everything.
        if let status = record.status, [.PUT, .POST, .PATCH].contains(parts.method) {
            evidence.recordAnswer(status, to: execution.id, at: parts.url.destination)
        }
        secrets.redact(&record, except: ["link", "location", "set-cookie"])
        return record
    }

    /// The stored form of a response that no later request needs, as JSON.
    package func result(_ record: HTTPRecord, _ extras: HTTPResult.Extras = HTTPResult.Extras()) -> [UInt8] {
        var record = record
        secrets.redact(&record)
        let result = HTTPResult.json(record, extras)
        guard secrets.areIn(result) else { return result }
        // An escape hid a secret in the text of the body, and not in its value.
        var extras = extras
        extras.keepsValue = false
        return HTTPResult.json(record, extras)
    }

    private var secrets: SecretValues {
        SecretValues(credential: credential?.value, headers: headers.map { ($0.name, $0.value) })
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
    package func failure(_ record: HTTPRecord, of method: HTTPMethod, _ url: ResourceURL) -> (any Error)? {
        let verdict = HTTPVerdict(
            request: "\(method.rawValue) \(url.displayText)", destination: url.destination, now: .now)
        guard var failure = verdict.failure(record) else { return nil }
        let delivers = [.PUT, .POST, .PATCH].contains(method)
        failure = evidence.judge(
            failure, of: execution.id, at: url.destination, redirectedTo: Self.otherDestination(record, url),
            refusal: delivers ? Self.refusal(record) : nil,
            tooLarge: delivers && record.status == 413 && execution.command.total > 0 ? execution.command.total : nil,
            since: record.startedAt)
        // A query has no effect, whether it has arrived or not.
        let isQuery = method == .OPTIONS
        if isQuery { failure.ambiguous = false }
        guard Task.isCancelled, record.head == nil || record.error is CancellationError else { return failure }
        if record.mayHaveSent && !isQuery { return CancellationError() }
        return CommandFailure.stopped(verdict.request)
    }

    /// The answer that refused a request, if it is one that can mean every command.
    private static func refusal(_ record: HTTPRecord) -> EqualRefusals.Answer? {
        guard let status = record.status, (400..<500).contains(status), status != 413 else { return nil }
        return EqualRefusals.Answer(status, record.body.readableBytesView)
    }

    /// The destination of a redirect, if it is another one.
    private static func otherDestination(_ record: HTTPRecord, _ url: ResourceURL) -> Destination? {
        guard let status = record.status, (300..<400).contains(status), let location = record.header("location"),
            let target = url.resolving(location)?.destination, target != url.destination
        else { return nil }
        return target
    }

    private func fields(_ parts: Parts) -> HTTPHeaders {
        var fields = HTTPHeaders()
        fields.reserveCapacity(headers.count + parts.headers.count + 4)
        // A string of structured fields (RFC 9651) is quoted.
        if [.PUT, .POST, .PATCH, .DELETE].contains(parts.method) {
            fields.add(name: "Idempotency-Key", value: "\"\(execution.id)\"")
        }
        for header in headers where !parts.withheld.contains(header.name.lowercased()) {
            fields.add(name: header.name, value: header.value)
        }
        if !fields.contains(name: "user-agent") { fields.add(name: "User-Agent", value: "sluice") }
        for header in parts.headers { fields.replaceOrAdd(name: header.name, value: header.value) }
        if let credential { fields.replaceOrAdd(name: credential.name, value: credential.value) }
        return fields
    }
}

extension RequestSender {
    /// Sends one request, and stops it at the deadline.
    /// - Returns: the record, and whether the deadline has stopped the request. Then the record has what came
    ///   before it, which may be a status.
    package func send(_ parts: Parts, until deadline: ContinuousClock.Instant) async -> (
        record: HTTPRecord, isLate: Bool
    ) {
        let record = await withTaskGroup(of: HTTPRecord?.self) { group in
            group.addTask { await send(parts) }
            group.addTask {
                try? await Task.sleep(until: deadline)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            guard first == nil else { return first }
            return await group.next() ?? nil
        }
        guard let record else {
            var record = HTTPRecord()
            record.error = CancellationError()
            return (record, false)
        }
        return (record, record.error is CancellationError && !Task.isCancelled)
    }
}

extension CredentialStore {
    /// The header field with the credential for a destination, unless the payload sets that field.
    /// - Throws: ``CommandFailure`` of the credential where its file or variable cannot be read.
    package func field(
        for destination: Destination, unlessIn headers: [HTTPField]
    ) async throws -> (name: String, value: String)? {
        guard let credential = self[destination] else { return nil }
        let name = credential.headerName.lowercased()
        guard !headers.contains(where: { $0.isNamed(name) }) else { return nil }
        do {
            return try await BlockingIO.sources.run { try credential.header() }
        } catch is CancellationError {
            throw CommandFailure.stopped("the request to \(destination)")
        } catch {
            throw CommandFailure(.credential, reason: "no credential for \(destination): \(error)")
        }
    }
}
