internal import Commands
internal import HTTPClient
internal import NIOHTTP1
internal import Operations
internal import S3
internal import Transfers

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
