internal import Commands
internal import HTTPClient
internal import NIOHTTP1
internal import Transfers

/// `Content-Range` to a session URL. An empty `PUT` with `bytes */SIZE` is answered by 308 with
/// `Range: bytes=0-41` for 42 bytes, and by 2xx when the file is complete.
struct ContentRangeSession: UploadDialect {
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
