internal import Commands
internal import HTTPClient
internal import NIOHTTP1
internal import Transfers

/// PUT with `Content-Range` (RFC 9110, section 14.5), for destinations that support it according to
/// sluice.yaml. Any other destination would take the rest of a file for the whole file.
///
/// The answer to an empty `PUT` with `Content-Range: bytes */SIZE` shows which dialect the destination
/// supports:
///
/// | answer | dialect |
/// |---|---|
/// | 308 | ``ContentRangeSession`` (Google Cloud Storage and others) |
/// | 400 (Apache httpd with mod_dav), 404, 500 … | ``ContentRangeLength``: it supports only `bytes 0-41/42` |
/// | 2xx | the same, if the target is empty now: the destination stored the empty body |
/// | 501 (nginx) | none: the whole file is sent in one PUT |
struct ContentRangeRequests: Sendable {
    /// Conditional headers of the payload. They are sent only until a request of this upload has created the
    /// target.
    static let conditions: Set<String> = ["if-none-match", "if-match", "if-unmodified-since"]

    let requests: UploadRequests
    let source: SourceFile

    var size: Int64 { source.identity.size }
    var url: ResourceURL { requests.upload.to }

    /// Queries which dialect the destination supports.
    /// - Throws: ``CommandFailure`` where the destination refuses the query or is unavailable.
    func querySupport() async throws -> ContentRangeSupport {
        let record = await query(withholding: [])
        switch record.status {
        case 308? where Self.isIncomplete(record): return .session(session(record))
        case 501?: return .none(createdTarget: false)
        case let code? where (200..<300).contains(code):
            let found = await head()
            guard Self.length(found) == 0 else { return .none(createdTarget: true) }
            return .length(emptied: .holds(0, found))
        case nil, 401?, 403?, 408?, 410?, 425?, 429?, 502?, 503?, 504?: throw failure(record)
        case let code? where code < 400: throw failure(record)
        default: return .length(emptied: nil)
        }
    }

    // MARK: Requests

    func query(withholding withheld: Set<String>) async -> HTTPRecord {
        await requests.send(.PUT, url, [("Content-Range", "bytes */\(size)")], withholding: withheld)
    }

    func head() async -> HTTPRecord { await DeliveryQuery.head(url, requests) }

    /// Creates the target or empties it.
    func empty() async -> HTTPRecord { await requests.send(.PUT, url, contentType) }

    func append(_ range: Range<Int64>) async -> HTTPRecord {
        let bytes = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
        return await requests.send(
            .PUT, url, contentType + [("Content-Range", bytes)], withholding: Self.conditions, body: .unread(source),
            from: range.lowerBound, size: range.upperBound)
    }

    private var contentType: [(name: String, value: String)] { requests.contentType }

    // MARK: Answers

    /// Whether a 308 reports an incomplete upload. A redirect (RFC 9110, section 15.4.9) has a `Location`.
    static func isIncomplete(_ record: HTTPRecord) -> Bool { record.header("location") == nil }

    static func length(_ record: HTTPRecord) -> Int64? {
        guard record.status == 200 || record.status == 204 else { return nil }
        return record.count("content-length")
    }

    /// Reads `Range: bytes=0-41`, which means that the destination holds 42 bytes. Without the field it holds
    /// none.
    func session(_ record: HTTPRecord) -> ResumptionAnswer {
        guard let range = record.header("range") else { return .holds(0, record) }
        guard let dash = range.lastIndex(of: "-"), let last = Int64(range[range.index(after: dash)...].trimmed),
            last >= 0, last < size - 1
        else { return .failed(unexpected(record)) }
        return .holds(last + 1, record)
    }

    /// The failure of a request with an unexpected answer.
    func failure(_ record: HTTPRecord) -> any Error {
        requests.failure(record, of: .PUT, url) ?? unexpected(record)
    }

    private func unexpected(_ record: HTTPRecord) -> CommandFailure {
        CommandFailure(
            .command,
            reason: "PUT \(url.displayText) was answered \(record.status ?? 0) with the range "
                + "“\((record.header("range") ?? "").prefix(80))”, which does not fit a file of \(size) bytes")
    }
}

/// How a destination supports `Content-Range`, by its answer to the first query.
enum ContentRangeSupport {
    /// By ``ContentRangeSession``; with the answer of the session.
    case session(ResumptionAnswer)
    /// By ``ContentRangeLength``; with the answer where the query has emptied the target already.
    case length(emptied: ResumptionAnswer?)
    /// Not at all: the destination takes the whole file only.
    /// - createdTarget: the query has created the target.
    case none(createdTarget: Bool)
}

/// `Content-Range` to a session URL. An empty `PUT` with `bytes */SIZE` is answered by 308 with
/// `Range: bytes=0-41` for 42 bytes, and by 2xx when the file is complete.
struct ContentRangeSession: ResumptionDialect {
    let messages: ContentRangeRequests

    var checkpoint: UploadCheckpoint.ResumePoint? { .contentRange(.session) }
    var takesChunks: Bool { false }

    /// Another program has created the session and submitted its URL, so this only queries the offset.
    func create() async -> ResumptionAnswer { await locate() }

    func locate() async -> ResumptionAnswer {
        let record = await messages.query(withholding: ContentRangeRequests.conditions)
        switch record.status {
        case 308? where ContentRangeRequests.isIncomplete(record): return messages.session(record)
        case 404?, 410?: return .failed(isOver(record))
        default: break
        }
        if let failure = messages.requests.failure(record, of: .PUT, messages.url) { return .failed(failure) }
        return .holds(messages.size, record)
    }

    func append(_ range: Range<Int64>) async -> ResumptionAnswer {
        let record = await messages.append(range)
        guard let failure = messages.requests.failure(record, of: .PUT, messages.url) else {
            return .holds(messages.size, record)
        }
        if let answer = messages.requests.unanswered(record, failure, range, size: messages.size) { return answer }
        switch record.status {
        case 308? where ContentRangeRequests.isIncomplete(record): return .refusesOffset(nil)
        case 404?, 410?: return .failed(isOver(record))
        // The offset has changed since the query: bytes of a broken connection may have arrived late, or bytes were
        // lost.
        case 409?, 416?: return .refusesOffset(failure)
        default: return .failed(failure)
        }
    }

    func confirm() async -> ResumptionAnswer { await locate() }

    private func isOver(_ record: HTTPRecord) -> CommandFailure {
        CommandFailure(
            .final,
            reason: "PUT \(messages.url.displayText) was answered \(record.status ?? 0): the session of this upload "
                + "is over; open another one there and submit to its URL")
    }
}
