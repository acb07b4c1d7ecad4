internal import Commands
internal import HTTPClient
internal import NIOHTTP1
internal import Operations
internal import S3
internal import Transfers

/// The object of S3 that a download reads, in its payload:
///
/// ```
/// {"endpoint": "https://s3.example.com", "region": "us-east-1", "bucket": "media", "key": "in/a.mp4",
///  "addressing": "path",             or "virtual"
///  "versionId": "3HL4kqtJ"}          of a bucket that keeps versions; absent: the newest one
/// ```
///
/// Its requests are signed with the access key of the endpoint.
struct S3Source: Sendable, Equatable {
    private static let keys = "“endpoint”, “region”, “bucket”, “key”, “addressing” and “versionId”"

    let endpoint: S3Endpoint
    let region: String
    let addressing: S3Addressing
    let address: S3Address
    let versionID: String?

    init(_ value: JSONValue) throws(PayloadError) {
        var reader = try PayloadReader(value, of: "an object of S3", keys: Self.keys)
        guard
            case .object(let endpoint, let region, let addressing, let bucket, let key) = try S3Payload.object(&reader)
        else { throw PayloadError(.data, "“s3” has \(Self.keys)") }
        versionID = try reader.text("versionId")
        guard versionID?.isEmpty != true else { throw PayloadError(.data, "“versionId” is empty") }
        try reader.finish()
        guard !key.endsWithBytes(of: "/") else {
            throw PayloadError(
                .usage, "“key” is “\(key)”, and a key that ends in a slash names a folder; name one object")
        }
        do throws(S3AddressError) {
            address = try S3Address(
                endpoint: endpoint.destination, basePath: endpoint.path, addressing: addressing, bucket: bucket,
                key: key)
        } catch {
            throw PayloadError(.data, error.message)
        }
        (self.endpoint, self.region, self.addressing) = (endpoint, region, addressing)
    }

    var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("endpoint", .string(endpoint.text)), .init("region", .string(region)),
            .init("bucket", .string(address.bucket)), .init("key", .string(address.key)),
            .init("addressing", .string(addressing.rawValue)),
        ]
        if let versionID { members.append(.init("versionId", .string(versionID))) }
        return .object(members)
    }

    /// The URL of the object.
    func url() throws(PayloadError) -> ResourceURL { try ResourceURL(S3Path.target(address.url, query)) }

    private var query: [S3QueryItem] { versionID.map { [S3QueryItem("versionId", $0)] } ?? [] }

    /// A request for the object, not signed.
    /// - Parameter headers: of the payload.
    func request(_ method: String, _ headers: [HTTPField]) -> AWSRequest {
        var request = AWSRequest(method: method, host: address.host, path: address.path, query: query, headers: headers)
        // Other stores refuse headers that they do not know.
        if address.isAmazon { request.headers.append(HTTPField("x-amz-checksum-mode", "ENABLED")) }
        return request
    }

    /// - Returns: why a header cannot be set, in a sentence; nil where it can.
    static func objection(to field: HTTPField) -> String? {
        S3HeaderRules.objection(to: field.name, value: field.value)
    }
}

/// Signs the requests of a download from S3, and judges the answers that refuse them.
struct S3DownloadClient: Sendable {
    let source: S3Source
    /// Of the payload.
    let headers: [HTTPField]
    let client: S3Client

    /// The headers of a request with its signature, which is valid for minutes: each request has its own.
    func signed(_ request: DownloadRequest) async throws -> [HTTPField] {
        try await client.signed(source.request(request.method, headers))
    }

    /// The meaning of an answer that refuses a request.
    enum Refusal: Sendable {
        /// The clock was corrected: send the request again.
        case sendAgain
        case failed(CommandFailure)
    }

    /// - Parameter hasCorrectedClock: whether the request was sent with a clock that was corrected already.
    func judge(
        _ record: HTTPRecord, status: Int, to request: DownloadRequest, hasCorrectedClock: Bool
    ) -> Refusal {
        var attempt = S3Attempt(request == .head ? .head : .get)
        attempt.hasCorrectedClock = hasCorrectedClock
        let refusal = S3Refusal(S3Response(record, status: status))
        let url = source.address.url
        let verdict = S3Verdict(request: "\(request.method) \(url)", destination: client.endpoint, now: .now)
        switch verdict.decision(refusal, attempt) {
        case .correctClock(let offset):
            client.signatures.correct(offset, of: client.endpoint)
            return .sendAgain
        case .fail(let failure):
            return .failed(
                client.evidence.judge(
                    failure, of: client.execution.id, at: source.address.destination, since: record.startedAt))
        // The others are about a body that was sent.
        case .sendAgain, .restart, .inspectThenRestart, .inspectThenFail:
            return .failed(CommandFailure(.command, reason: "\(request.method) \(url) was answered \(refusal.text)"))
        }
    }
}
