internal import Commands
internal import HTTPClient
internal import NIOHTTP1
internal import Operations
internal import Transfers

/// The requests of one upload.
struct UploadRequests: Sendable {
    var upload: UploadPayload
    private var sender: RequestSender

    /// Bodies wait for `100 Continue`, because the destination refused the last one for a reason of its own.
    var expectsContinue: Bool {
        get { sender.expectsContinue }
        set { sender.expectsContinue = newValue }
    }

    init(
        upload: UploadPayload, execution: CommandExecution, credential: (name: String, value: String)?,
        transport: any RequestTransport, evidence: DestinationEvidence
    ) {
        self.upload = upload
        sender = RequestSender(
            execution: execution, headers: upload.headers, credential: credential, transport: transport,
            evidence: evidence, isConfined: upload.isConfined)
    }

    var execution: CommandExecution { sender.execution }

    /// Sends one request and waits for its end; see ``RequestSender/send(_:)``.
    /// - Parameters:
    ///   - own: headers of this request. They replace those of the payload.
    ///   - withheld: names, in lower case, of headers of the payload that this request must not carry.
    func send(
        _ method: HTTPMethod, _ url: ResourceURL, _ own: [(name: String, value: String)] = [],
        withholding withheld: Set<String> = [], body: HTTPTransfer.Body = .none, from start: Int64 = 0, size: Int64 = 0
    ) async -> HTTPRecord {
        var parts = RequestSender.Parts(method, url)
        parts.headers = own
        parts.withheld = withheld
        parts.body = body
        parts.range = start..<max(start, size)
        parts.isRest = if case .unread = body { true } else { false }
        return await sender.send(parts)
    }

    /// The failure of a request; nil for success.
    func failure(_ record: HTTPRecord, of method: HTTPMethod, _ url: ResourceURL) -> (any Error)? {
        sender.failure(record, of: method, url)
    }

    /// As ``failure(_:of:_:)``, but nil for a failure that will not pass. A server that does not support the
    /// method (501, as 405) never will.
    func transientFailure(_ record: HTTPRecord, of method: HTTPMethod, _ url: ResourceURL) -> (any Error)? {
        if record.status == 501 { return nil }
        let failure = failure(record, of: method, url)
        return (failure as? CommandFailure)?.fault == .final ? nil : failure
    }

    /// Reads the end of a request with bytes of a resumable upload that was not answered.
    ///
    /// A reset or a timeout after the last byte of the file says nothing about the upload, so its offset is queried. So it
    /// is after the end of a kept connection, which the destination may have closed before the request.
    /// - Parameters:
    ///   - failure: of the request.
    ///   - range: the bytes of the request.
    ///   - size: of the file.
    /// - Returns: nil where the request was answered, or where no query can follow at once: the link has failed, or the
    ///   execution is stopped.
    func unanswered(
        _ record: HTTPRecord, _ failure: any Error, _ range: Range<Int64>, size: Int64
    ) -> ResumptionAnswer? {
        guard record.head == nil, !Task.isCancelled else { return nil }
        if record.sentAll, range.upperBound == size, let failure = failure as? CommandFailure,
            failure.fault == .reset || failure.fault == .command, failure.ambiguous
        {
            return .failedAtEnd(failure)
        }
        return record.lostKeptConnection
            ? .lostConnection(failure, sent: range.lowerBound + record.sentBytes) : nil
    }

    /// The stored form of a response that no later request needs, as JSON.
    func result(_ record: HTTPRecord, removal: SourceRemovalResult?) -> [UInt8] {
        sender.result(record, HTTPResult.Extras(removal: removal))
    }

    /// The media type of the file, without parameters.
    var mediaType: String? {
        let own = upload.headers.first { $0.isNamed("content-type") }?.value
        return MediaType.essence(own ?? MediaType.of(fileName: upload.fileName))
    }

    /// `Content-Type` by the name of the file, unless the payload sets it.
    var contentType: [(name: String, value: String)] {
        guard !upload.headers.contains(where: { $0.isNamed("content-type") }) else { return [] }
        return [("Content-Type", MediaType.of(fileName: upload.fileName))]
    }
}
