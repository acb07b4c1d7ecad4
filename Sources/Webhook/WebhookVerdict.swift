internal import Commands
internal import HTTPClient

/// Decides what a receiver's response means for its command. ``HTTPVerdict`` decides where no response came;
/// a receiver that stays silent for 20 s is charged.
///
/// | response | fault | remarks |
/// |---|---|---|
/// | 2xx | success | |
/// | 3xx | final | “register the new URL”: a signed message is for one receiver |
/// | 410 | final | the receiver wants no more messages: this URL is paused (``WebhookEndpointState``) |
/// | other 4xx | command, charged | a receiver is mended within days; 429 is a push-back |
/// | 502, 504 | command, charged, push-back | also those of a proxy |
/// | 503 | push-back | charged while other messages are answered there, else uncharged |
/// | 511 | link | comes from the login page of a network |
/// | other | command, charged | |
///
/// No failure is ambiguous in effect: a message may be sent twice, because receivers know its id.
struct WebhookVerdict: Sendable {
    /// The request in messages, without the query: `POST https://example.com/hooks`.
    let request: String
    let now: Timestamp

    /// - Returns: nil for success.
    func failure(_ response: WebhookResponse) -> CommandFailure? {
        guard !(200..<300).contains(response.status) else { return nil }
        let wait = response.retryAfter.flatMap { RetryAfter.duration($0, now: now) }
        var failure = CommandFailure(
            Self.fault(response.status), reason: reason(response), retryAfter: wait)
        if failure.fault == .final { failure.retryAfter = nil }
        failure.isPushback = [429, 502, 503, 504].contains(response.status)
        failure.isAnswer = response.status != 511
        failure.isUnavailable = response.status == 503
        return failure
    }

    private static func fault(_ status: Int) -> CommandFailure.Fault {
        switch status {
        case 300..<400, 410: .final
        case 503, 511: .link
        default: .command
        }
    }

    private func reason(_ response: WebhookResponse) -> String {
        let text = BodyExcerpt.clause(response.text, status: response.status, phrase: "")
        let answer = "\(request) was answered \(response.status)\(text)"
        switch response.status {
        case 300..<400:
            let location = response.location.map {
                " to \(SingleLine.text(HTTPHeaderRedaction.shown(url: $0), limit: 300))"
            }
            return "\(request) was answered \(response.status): a redirect\(location ?? ""), which is not followed; "
                + "register the new URL and submit again"
        case 410: return "\(answer); the receiver wants no more messages there"
        default: return answer
        }
    }
}

/// The part of a receiver's response that decides.
struct WebhookResponse: Sendable, Equatable {
    var status: Int
    /// `Retry-After` as it came, or what ``RequestLimit`` says.
    var retryAfter: String?
    /// `Location` as it came.
    var location: String?
    /// The start of the body, for the reason.
    var text = ""

    init(_ status: Int) { self.status = status }
}
