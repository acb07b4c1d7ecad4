internal import Commands
internal import HTTPClient
internal import NIOHTTP1

/// PUT with `Content-Range` (RFC 9110, section 14.5), for destinations that sluice.yaml says understand it: one that
/// does not would take the rest of a file for all of it.
///
/// The destination shows how it wants to be asked, in its answer to an empty `PUT` with `Content-Range: bytes */SIZE`:
///
/// | answer | dialect |
/// |---|---|
/// | 308 | ``ContentRangeSession`` (Google Cloud Storage and others) |
/// | 400 (Apache httpd with mod_dav), 404, 500 … | ``ContentRangeLength``: it knows `bytes 0-41/42` alone |
/// | 2xx | the same, where the target is empty now: it took nothing for the whole file |
/// | 501 (nginx) | none: the whole file is sent in one PUT |
struct ContentRangeRequests: Sendable {
    /// What a destination showed when it was asked for the first time.
    enum Discovery {
        case session(ResumptionAnswer)
        /// - begun: the target is empty already.
        case length(begun: ResumptionAnswer?)
        /// - isOurs: the question has made the target.
        case wholeOnly(isOurs: Bool)
    }

    /// Of the payload, until a request has made the target: what is there then is ours.
    static let conditions: Set<String> = ["if-none-match", "if-match", "if-unmodified-since"]

    let requests: UploadRequests
    let source: SourceFile

    var size: Int64 { source.identity.size }
    var url: UploadURL { requests.upload.to }

    /// - Throws: ``CommandFailure`` of a destination that refuses the question or does not answer it now.
    func discover() async throws -> Discovery {
        let record = await query(withholding: [])
        switch record.status {
        case 308? where Self.isIncomplete(record): return .session(session(record))
        case 501?: return .wholeOnly(isOurs: false)
        case let code? where (200..<300).contains(code):
            let found = await head()
            guard Self.length(found) == 0 else { return .wholeOnly(isOurs: true) }
            return .length(begun: .holds(0, found))
        case nil, 401?, 403?, 408?, 410?, 425?, 429?, 502?, 503?, 504?: throw failure(record)
        case let code? where code < 400: throw failure(record)
        default: return .length(begun: nil)
        }
    }

    // MARK: Requests

    func query(withholding withheld: Set<String>) async -> HTTPRecord {
        await requests.send(.PUT, url, [("Content-Range", "bytes */\(size)")], withholding: withheld)
    }

    func head() async -> HTTPRecord { await DeliveryQuestion.head(url, requests) }

    /// Makes the target empty.
    func empty() async -> HTTPRecord { await requests.send(.PUT, url, contentType) }

    func append(_ range: Range<Int64>) async -> HTTPRecord {
        let bytes = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
        return await requests.send(
            .PUT, url, contentType + [("Content-Range", bytes)], withholding: Self.conditions, body: .unread(source),
            from: range.lowerBound, size: range.upperBound)
    }

    private var contentType: [(name: String, value: String)] { requests.contentType }

    // MARK: Answers

    /// 308 is also a redirect (RFC 9110, section 15.4.9), which says where to.
    static func isIncomplete(_ record: HTTPRecord) -> Bool { record.header("location") == nil }

    static func length(_ record: HTTPRecord) -> Int64? {
        guard record.status == 200 || record.status == 204 else { return nil }
        return record.count("content-length")
    }

    /// `Range: bytes=0-41`: 42 bytes are there; without it, none.
    func session(_ record: HTTPRecord) -> ResumptionAnswer {
        guard let range = record.header("range") else { return .holds(0, record) }
        guard let dash = range.lastIndex(of: "-"), let last = Int64(range[range.index(after: dash)...].trimmed),
            last >= 0, last < size - 1
        else { return .failed(unexpected(record)) }
        return .holds(last + 1, record)
    }

    /// What a request comes to that was not answered as hoped.
    func failure(_ record: HTTPRecord) -> any Error {
        requests.failure(record, of: .PUT, url) ?? unexpected(record)
    }

    private func unexpected(_ record: HTTPRecord) -> CommandFailure {
        CommandFailure(
            .command,
            reason: "PUT \(url.textForPeople) was answered \(record.status ?? 0) with the range "
                + "“\((record.header("range") ?? "").prefix(80))”, which says nothing of \(size) bytes")
    }
}
