internal import Commands
internal import Crypto
internal import HTTPClient
internal import Host
internal import NIOHTTP1
internal import Transfers

/// The request that shows whether a destination holds every byte of an upload.
enum DeliveryQuery: Sendable {
    /// HEAD of the target of a PUT.
    case head(ResourceURL)
    /// HEAD of the `Location` in the answer to a POST: the file, or a page or record about it.
    case created(ResourceURL)
    /// HEAD of the tus upload.
    case tus(TusLocation)
    /// An empty PUT with `Content-Range: bytes */SIZE` to a session.
    case session

    /// The query for a resumable upload.
    init(_ resumePoint: UploadCheckpoint.ResumePoint?, target: ResourceURL) {
        self =
            switch resumePoint {
            case .tus(let location)? where location.url.destination == target.destination: .tus(location)
            case .contentRange(.session)?: .session
            case .tus?, .contentRange(.length)?, .copy?, nil: .head(target)
            }
    }

    /// The query for a file that was sent in one request.
    /// - Returns: nil where the answer to a POST does not name a URL of the destination.
    init?(_ upload: UploadPayload, answered record: HTTPRecord) {
        switch upload.method {
        case .put: self = .head(upload.to)
        case .post:
            guard let url = record.header("location").flatMap({ upload.to.resolving($0) }),
                url.destination == upload.to.destination
            else { return nil }
            self = .created(url)
        }
    }

    /// Sends the query.
    /// - Parameters:
    ///   - size: the bytes of the source.
    ///   - digest: returns the SHA-256 of the source in base64, or nil where the source no longer exists. Is
    ///     called if the destination states a digest.
    func send(
        _ requests: UploadRequests, size: Int64, digest: @Sendable () async throws -> String?
    ) async -> DeliveryEvidence {
        switch self {
        case .head(let url): await Self.queryTarget(url, mayDescribe: false, requests, size, digest)
        case .created(let url): await Self.queryTarget(url, mayDescribe: true, requests, size, digest)
        case .tus(let location): await Self.queryTus(location, requests, size)
        case .session: await Self.querySession(requests, size)
        }
    }

    /// Sends HEAD without compression, which would change the length.
    static func head(_ url: ResourceURL, _ requests: UploadRequests) async -> HTTPRecord {
        await requests.send(
            .HEAD, url, [("Accept-Encoding", "identity")],
            withholding: ContentRangeRequests.conditions.union(["content-type", "range", "if-range"]))
    }

    // MARK: Answers

    private static func queryTarget(
        _ url: ResourceURL, mayDescribe: Bool, _ requests: UploadRequests, _ size: Int64,
        _ digest: @Sendable () async throws -> String?
    ) async -> DeliveryEvidence {
        let record = await head(url, requests)
        if let failure = requests.transientFailure(record, of: .HEAD, url) { return .unavailable(failure) }
        switch record.status {
        case 404?, 410?: return .mismatch("has no file there (\(record.status ?? 0))")
        case 200? where isIdentity(record): break
        default: return .unknown
        }
        if mayDescribe, let type = MediaType.essence(record.header("content-type")), MediaType.isDescription(type),
            type != requests.mediaType
        {
            return .description("describes it at \(url.displayText) as \(type)")
        }
        let length = record.count("content-length")
        if let length, length != size { return .mismatch("has \(length) of \(size) bytes") }
        if let stated = ReprDigest.sha256(record.fields("repr-digest")) {
            do {
                guard let digest = try await digest() else { return length == nil ? .unknown : .complete(record) }
                return digest == stated ? .complete(record) : .mismatch("has \(size) bytes with another SHA-256")
            } catch {
                return .unavailable(error)
            }
        }
        return length == nil ? .unknown : .complete(record)
    }

    private static func queryTus(
        _ location: TusLocation, _ requests: UploadRequests, _ size: Int64
    ) async -> DeliveryEvidence {
        let record = await TusDialect.head(location, requests)
        if record.status == 423 { return .unavailable(TusDialect.locked(requests, record, .HEAD, location.url)) }
        if let failure = requests.transientFailure(record, of: .HEAD, location.url) { return .unavailable(failure) }
        guard let code = record.status, (200..<300).contains(code) else {
            return record.status == 404 || record.status == 410
                ? .gone("does not know the upload any more (\(record.status ?? 0))") : .unknown
        }
        guard let offset = record.count("upload-offset") else { return .unknown }
        return offset == size
            ? .complete(TusDialect.withLocation(record, at: location)) : .mismatch("has \(offset) of \(size) bytes")
    }

    private static func querySession(_ requests: UploadRequests, _ size: Int64) async -> DeliveryEvidence {
        let url = requests.upload.to
        let record = await requests.send(
            .PUT, url, [("Content-Range", "bytes */\(size)")], withholding: ContentRangeRequests.conditions)
        if record.status == 308, ContentRangeRequests.isIncomplete(record) {
            return .mismatch("waits for more than it has of \(size) bytes")
        }
        if let failure = requests.transientFailure(record, of: .PUT, url) { return .unavailable(failure) }
        return record.status.map { (200..<300).contains($0) } == true ? .complete(record) : .unknown
    }

    private static func isIdentity(_ record: HTTPRecord) -> Bool {
        record.list("content-encoding").allSatisfy { $0 == "identity" }
    }
}

/// The evidence for the delivery of an upload that was answered with success.
enum DeliveryEvidence: Sendable {
    /// The destination holds every byte, according to this answer.
    case complete(HTTPRecord)
    /// The destination holds something else: `has 0 of 2000000 bytes`.
    case mismatch(String)
    /// The upload no longer exists. The server may have processed and removed it, or lost it.
    case gone(String)
    /// The URL in the answer to a POST describes the file, so its length is not that of the file.
    case description(String)
    /// The destination does not support the query (403, 405, 501), or states neither a length nor a digest.
    case unknown
    /// The destination does not answer now.
    case unavailable(any Error)

    var isContradiction: Bool {
        switch self {
        case .mismatch, .gone: true
        case .complete, .description, .unknown, .unavailable: false
        }
    }
}

/// `Repr-Digest` (RFC 9530): `sha-256=:base64:`, the digest of the whole file.
enum ReprDigest {
    private static let step = 1 << 20

    /// - Parameter fields: the values of all `Repr-Digest` fields.
    /// - Returns: 32 bytes in base64; nil without a valid SHA-256.
    static func sha256(_ fields: [String]) -> String? {
        for member in fields.flatMap({ $0.split(separator: ",") }).map(\.trimmed) {
            guard let mark = member.firstIndex(of: "="), member[..<mark].trimmed.lowercased() == "sha-256" else {
                continue
            }
            // Parameters follow a semicolon.
            let value = member[member.index(after: mark)...].prefix { $0 != ";" }.trimmed
            guard value.hasPrefix(":"), value.hasSuffix(":"), value.utf8.count == 46 else { return nil }
            return String(value.dropFirst().dropLast())
        }
        return nil
    }

    /// Reads the whole source. Blocks.
    /// - Parameter read: is called with the number of bytes so far.
    /// - Returns: its SHA-256 in base64.
    /// - Throws: ``SystemError``.
    static func sha256(of source: SourceFile, read: (_ bytes: Int64) -> Void = { _ in }) throws -> String {
        var hash = SHA256()
        var offset: Int64 = 0
        var bytes = [UInt8](repeating: 0, count: step)
        while offset < source.identity.size {
            let count = try bytes.withUnsafeMutableBytes { try source.read(into: $0, at: offset) }
            guard count > 0 else { break }
            bytes.withUnsafeBytes { hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
            offset += Int64(count)
            read(offset)
        }
        return Base64.encode(hash.finalize())
    }
}
