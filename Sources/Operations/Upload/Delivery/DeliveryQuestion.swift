internal import Commands
internal import HTTPClient
internal import NIOHTTP1
internal import Work

/// The request that tells whether a destination holds every byte of an upload.
enum DeliveryQuestion: Sendable {
    /// HEAD of the target of a PUT, or of the `Location` that a POST was answered with.
    case head(UploadURL)
    /// HEAD of the upload.
    case tus(TusLocation)
    /// An empty PUT with `Content-Range: bytes */SIZE` to a session.
    case session

    /// Of an upload that can go on.
    init(_ way: UploadCheckpoint.Way?, target: UploadURL) {
        self =
            switch way {
            case .tus(let location)? where location.url.destination == target.destination: .tus(location)
            case .contentRange(.session)?: .session
            case .tus?, .contentRange(.length)?, .copy?, nil: .head(target)
            }
    }

    /// Of a file that went in one request.
    /// - Returns: nil where the answer to a POST names no URL that could be asked.
    init?(_ upload: UploadPayload, answered record: HTTPRecord) {
        switch upload.method {
        case .put: self = .head(upload.to)
        case .post:
            guard let url = record.header("location").flatMap({ upload.to.resolving($0) }),
                url.destination == upload.to.destination
            else { return nil }
            self = .head(url)
        }
    }

    /// - Parameter digest: SHA-256 of the source in base64, nil where there is no source any more; called where the
    ///   destination states its own.
    /// - Returns: what the destination says of `size` bytes.
    func ask(
        _ requests: UploadRequests, size: Int64, digest: @Sendable () async throws -> String?
    ) async -> DeliveryEvidence {
        switch self {
        case .head(let url): await Self.askTarget(url, requests, size, digest)
        case .tus(let location): await Self.askTus(location, requests, size)
        case .session: await Self.askSession(requests, size)
        }
    }

    /// Compressed on its way the target would have another length.
    static func head(_ url: UploadURL, _ requests: UploadRequests) async -> HTTPRecord {
        await requests.send(
            .HEAD, url, [("Accept-Encoding", "identity")],
            withholding: ContentRangeRequests.conditions.union(["content-type", "range", "if-range"]))
    }

    // MARK: Answers

    private static func askTarget(
        _ url: UploadURL, _ requests: UploadRequests, _ size: Int64, _ digest: @Sendable () async throws -> String?
    ) async -> DeliveryEvidence {
        let record = await head(url, requests)
        if let failure = requests.passingFailure(record, of: .HEAD, url) { return .notNow(failure) }
        switch record.status {
        case 404?, 410?: return .lacks("has nothing there (\(record.status ?? 0))")
        case 200? where isIdentity(record): break
        default: return .untold
        }
        let length = record.count("content-length")
        if let length, length != size { return .lacks("has \(length) of \(size) bytes") }
        if let stated = ReprDigest.sha256(record.fields("repr-digest")) {
            do {
                guard let digest = try await digest() else { return length == nil ? .untold : .every(record) }
                return digest == stated ? .every(record) : .lacks("has \(size) bytes with another SHA-256")
            } catch {
                return .notNow(error)
            }
        }
        return length == nil ? .untold : .every(record)
    }

    private static func askTus(
        _ location: TusLocation, _ requests: UploadRequests, _ size: Int64
    ) async -> DeliveryEvidence {
        let record = await TusDialect.head(location, requests)
        if record.status == 423 { return .notNow(TusDialect.locked(requests, record, .HEAD, location.url)) }
        if let failure = requests.passingFailure(record, of: .HEAD, location.url) { return .notNow(failure) }
        guard let code = record.status, (200..<300).contains(code) else {
            return record.status == 404 || record.status == 410
                ? .gone("does not know the upload any more (\(record.status ?? 0))") : .untold
        }
        guard let offset = record.count("upload-offset") else { return .untold }
        return offset == size
            ? .every(TusDialect.placed(record, at: location)) : .lacks("has \(offset) of \(size) bytes")
    }

    private static func askSession(_ requests: UploadRequests, _ size: Int64) async -> DeliveryEvidence {
        let url = requests.upload.to
        let record = await requests.send(
            .PUT, url, [("Content-Range", "bytes */\(size)")], withholding: ContentRangeRequests.conditions)
        if record.status == 308, ContentRangeRequests.isIncomplete(record) {
            return .lacks("waits for more than it has of \(size) bytes")
        }
        if let failure = requests.passingFailure(record, of: .PUT, url) { return .notNow(failure) }
        return record.status.map { (200..<300).contains($0) } == true ? .every(record) : .untold
    }

    private static func isIdentity(_ record: HTTPRecord) -> Bool {
        record.list("content-encoding").allSatisfy { $0 == "identity" }
    }
}
