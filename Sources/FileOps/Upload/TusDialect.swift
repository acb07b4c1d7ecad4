internal import Commands
internal import HTTPClient
internal import Host
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization
internal import Transfers

/// tus 1.0.0 (https://tus.io/protocols/resumable-upload): the core protocol and the creation extension.
///
/// ```
/// POST to         Upload-Length, Upload-Metadata   → 201 with Location: the URL of the upload. The checkpoint has it
///                                                    before the first byte leaves
/// HEAD Location   before a resume                  → Upload-Offset: bytes that the server holds
/// PATCH Location  Upload-Offset, and bytes         → 204 with Upload-Offset
/// ```
///
/// | answer | to | meaning |
/// |---|---|---|
/// | 404, 410; 403 to HEAD | HEAD, PATCH | the upload has vanished. The query is repeated before much is sent again |
/// | 409 | PATCH | the upload has another offset: queried again |
/// | 413 | PATCH | the request is too large: the rest goes in chunks (``ChunkSizes``) |
/// | 423 | HEAD, PATCH | another request has locked the upload: queried again after delays (``HTTPConfiguration/lockRetryDelays``) |
/// | 5xx, or none | last PATCH | queried again: the upload may have been processed |
/// | 412 | all | another version of tus: final |
/// | a smaller Tus-Max-Size | POST, 413 | final |
/// | any other | all | as for every request, see ``HTTPVerdict`` |
struct TusDialect: ResumptionDialect {
    static let version = "1.0.0"
    /// How soon another execution may query a locked upload.
    static let lockedRetry: Duration = .seconds(5)

    let requests: UploadRequests
    let source: SourceFile
    private(set) var location: TusLocation?

    init(requests: UploadRequests, source: SourceFile, location: TusLocation? = nil) {
        self.requests = requests
        self.source = source
        self.location = location
    }

    var checkpoint: UploadCheckpoint.ResumePoint? { location.map { .tus($0) } }
    var takesChunks: Bool { true }
    private var size: Int64 { source.identity.size }

    mutating func create() async -> ResumptionAnswer {
        let url = requests.upload.to
        var headers: [(name: String, value: String)] = [
            ("Tus-Resumable", Self.version), ("Upload-Length", "\(size)"),
        ]
        if !requests.upload.headers.contains(where: { $0.name.lowercased() == "upload-metadata" }) {
            headers.append(("Upload-Metadata", requests.upload.tusMetadata))
        }
        let record = await requests.send(.POST, url, headers, withholding: ["content-type"])
        if let refusal = wrongVersion(record, url) ?? tooLarge(record) { return .failed(refusal) }
        if let failure = requests.failure(record, of: .POST, url) {
            // An empty upload is complete once it is created, and may have been processed.
            guard size == 0, let status = record.status, status >= 500, var failure = failure as? CommandFailure else {
                return .failed(failure)
            }
            failure.ambiguous = true
            return .failed(failure)
        }
        guard let text = record.header("location") else {
            return .failed(
                Self.refusal(
                    "POST \(url.displayText) was answered \(record.status ?? 0) without a Location; "
                        + "check that the URL is a tus endpoint"))
        }
        guard let uploadURL = url.resolving(text), uploadURL.destination == url.destination else {
            return .failed(
                Self.refusal(
                    "POST \(url.displayText) has created the upload at another destination "
                        + "(\(HTTPHeaderRedaction.shown(url: String(text.prefix(300))))), which is not "
                        + "permitted, because credentials and limits belong to one destination; a server behind a proxy must "
                        + "know the URL that its clients use"
                ))
        }
        let location = TusLocation(url: uploadURL, cookies: UploadCookie.cookies(in: record, from: url))
        self.location = location
        return .holds(0, Self.withLocation(record, at: location))
    }

    func locate() async -> ResumptionAnswer {
        guard let location else { return .vanished }
        let record = await Self.head(location, requests)
        if let refusal = wrongVersion(record, location.url) { return .failed(refusal) }
        switch record.status {
        case 403?, 404?, 410?: return .vanished
        case 423?: return .locked(Self.locked(requests, record, .HEAD, location.url))
        default: if let failure = requests.failure(record, of: .HEAD, location.url) { return .failed(failure) }
        }
        guard let offset = record.count("upload-offset") else {
            return .failed(
                Self.refusal(
                    "HEAD \(location.url.displayText) was answered without an Upload-Offset; "
                        + "check that the URL is a tus endpoint"))
        }
        if let length = record.count("upload-length"), length != size { return .foreign }
        return .holds(offset, Self.withLocation(record, at: location))
    }

    func append(_ range: Range<Int64>) async -> ResumptionAnswer {
        guard let location else { return .vanished }
        let url = location.url
        let record = await requests.send(
            .PATCH, url,
            [
                ("Tus-Resumable", Self.version), ("Upload-Offset", "\(range.lowerBound)"),
                ("Content-Type", "application/offset+octet-stream"),
            ] + location.headers(requests.upload),
            withholding: ["upload-metadata"], body: .unread(source), from: range.lowerBound, size: range.upperBound)
        let failure = requests.failure(record, of: .PATCH, url)
        if let failure, let answer = requests.unanswered(record, failure, range, size: size) { return answer }
        if let refusal = wrongVersion(record, url) { return .failed(refusal) }
        if let failure {
            switch record.status {
            case 404?, 410?: return .vanished
            case 409?: return .refusesOffset(nil)
            case 413?: return tooLarge(record).map { .failed($0) } ?? .tooLarge(failure)
            case 423?: return .locked(Self.locked(requests, record, .PATCH, url))
            case let code? where code >= 500 && record.sentAll && range.upperBound == size:
                if let failure = failure as? CommandFailure { return .failedAtEnd(failure) }
                return .failed(failure)
            default: return .failed(failure)
            }
        }
        guard let offset = record.count("upload-offset") else { return .refusesOffset(nil) }
        return .holds(offset, Self.withLocation(record, at: location))
    }

    func confirm() async -> ResumptionAnswer { await locate() }

    /// Queries the offset of an upload.
    static func head(_ location: TusLocation, _ requests: UploadRequests) async -> HTTPRecord {
        await requests.send(
            .HEAD, location.url, [("Tus-Resumable", version)] + location.headers(requests.upload),
            withholding: ["content-type", "upload-metadata"])
    }

    // MARK: Answers

    private func wrongVersion(_ record: HTTPRecord, _ url: ResourceURL) -> CommandFailure? {
        guard record.status == 412 else { return nil }
        let versions = record.header("tus-version").map { "tus \($0.prefix(80))" } ?? "another version of tus"
        return Self.refusal(
            "\(url.displayText) supports \(versions), and Sluice supports tus \(Self.version); use another protocol")
    }

    private func tooLarge(_ record: HTTPRecord) -> CommandFailure? {
        record.count("tus-max-size").flatMap { Self.tooLarge(size, limit: $0, requests.upload.to) }
    }

    /// - Parameter limit: `Tus-Max-Size` of the endpoint, in bytes.
    /// - Returns: nil where the size is within the limit.
    static func tooLarge(_ size: Int64, limit: Int64, _ url: ResourceURL) -> CommandFailure? {
        guard size > limit else { return nil }
        return refusal(
            "the file has \(size) bytes, and \(url.displayText) takes uploads of at most \(limit) bytes (Tus-Max-Size)"
        )
    }

    static func locked(
        _ requests: UploadRequests, _ record: HTTPRecord, _ method: HTTPMethod, _ url: ResourceURL
    ) -> any Error {
        guard let failure = requests.failure(record, of: method, url) as? CommandFailure else {
            return CancellationError()
        }
        var locked = CommandFailure(.link, reason: failure.reason, retryAfter: failure.retryAfter ?? lockedRetry)
        locked.isAnswer = true
        return locked
    }

    private static func refusal(_ reason: String) -> CommandFailure {
        var failure = CommandFailure(.final, reason: reason)
        failure.isAnswer = true
        return failure
    }

    static func withLocation(_ record: HTTPRecord, at location: TusLocation) -> HTTPRecord {
        var record = record
        record.head?.headers.replaceOrAdd(name: "location", value: location.url.text)
        return record
    }
}

extension UploadPayload {
    /// `Upload-Metadata`: keys with values in base64. The keys are those of tus-js-client and most servers.
    fileprivate var tusMetadata: String {
        let type = headers.first { $0.name.lowercased() == "content-type" }?.value
        let filetype = type ?? MediaType.of(fileName: fileName)
        let below = path.map { ",relativePath \(Base64.encode($0.utf8))" } ?? ""
        return "filename \(Base64.encode(fileName.utf8)),filetype \(Base64.encode(filetype.utf8))\(below)"
    }
}

/// The URL of a tus upload, and the cookies that came with its creation.
struct TusLocation: Sendable, Equatable {
    var url: ResourceURL
    var cookies: [UploadCookie] = []

    /// The headers of requests to the upload.
    /// - Parameter upload: the payload, whose `Cookie` header is sent too.
    func headers(_ upload: UploadPayload) -> [(name: String, value: String)] {
        let pairs = cookies.filter { $0.isFor(url.path) }.map(\.pair)
        guard !pairs.isEmpty else { return [] }
        let own = upload.headers.filter { $0.name.lowercased() == "cookie" }.map(\.value)
        return [("Cookie", (own + pairs).joined(separator: "; "))]
    }
}

/// Queries by OPTIONS whether a URL accepts uploads by tus, and remembers the answer for ``lifetime``.
///
/// Only payloads without a protocol need this: those of files of at least ``UploadPayload/smallFile`` without
/// a method. So a small file costs no additional request, and many files into one directory cost one every
/// five minutes. An answer is valid for its URL only, because other URLs beside an endpoint may be different.
final class TusSupportCache: Sendable {
    /// How long an answer is valid.
    static let lifetime: Duration = .seconds(300)
    /// The maximum answers in memory.
    private static let maxAnswers = 1024

    private let answers = Mutex<[String: (support: TusSupport, until: MonotonicTime)]>([:])

    /// - Throws: the failure of a destination that is unavailable. It may speak tus, and then a PUT to this
    ///   URL would fail for good.
    func support(for requests: UploadRequests) async throws -> TusSupport {
        let url = requests.upload.to
        let now = MonotonicTime.now
        if let answer = answers.withLock({ $0[url.text] }), now < answer.until { return answer.support }
        let record = await requests.send(.OPTIONS, url, withholding: ["content-type", "upload-metadata"])
        guard let status = record.status else {
            throw requests.failure(record, of: .OPTIONS, url) ?? CancellationError()
        }
        if [408, 425, 429, 502, 503, 504].contains(status), let failure = requests.failure(record, of: .OPTIONS, url) {
            throw failure
        }
        let speaksTus = (200..<300).contains(status) && Self.isTus(record)
        let support = TusSupport(speaksTus: speaksTus, maxSize: record.count("tus-max-size"))
        // The upload itself gets the same failure. It says nothing about tus, so it is not remembered.
        guard status < 500 || status == 501, status != 401 else { return support }
        answers.withLock { answers in
            if answers.count >= Self.maxAnswers { answers.removeAll(keepingCapacity: true) }
            answers[url.text] = (support, now + Self.lifetime)
        }
        return support
    }

    /// Whether the destination supports this version and the creation of uploads.
    private static func isTus(_ record: HTTPRecord) -> Bool {
        let isVersion = (record.list("tus-version") + record.list("tus-resumable")).contains(TusDialect.version)
        return isVersion && record.list("tus-extension").contains("creation")
    }
}

/// Whether a URL accepts uploads by tus, according to its answer to OPTIONS.
struct TusSupport: Sendable, Equatable {
    var speaksTus: Bool
    /// `Tus-Max-Size` in bytes; nil where it is not stated.
    var maxSize: Int64?
}
