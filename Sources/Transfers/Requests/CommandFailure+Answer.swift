package import Commands
internal import HTTPClient
package import NIOHTTP1

extension CommandFailure {
    /// The failure of a request whose answer was cut off.
    /// - Parameter problem: the body, and where it was cut off, as the start of a sentence.
    package init(cutOff problem: String, by error: (any Error)?) {
        switch error as? HTTPError {
        case .stalled?, .keptConnectionSilent?:
            self.init(.link, reason: "\(problem): no byte arrived for too long")
        case .invalidResponse(let words, _)?:
            self.init(.command, reason: "\(problem) by something that is not HTTP: \(words)")
        default: self.init(.reset, reason: problem)
        }
    }

    /// The failure of a GET whose answer is still being made, such as an export: 202 with `Retry-After` (RFC 9110,
    /// sections 10.2.3 and 15.3.3). Nil for any other answer. A 202 without the field may be the answer itself.
    package static func pending(_ head: HTTPResponseHead, to request: String, now: Timestamp = .now) -> CommandFailure?
    {
        guard head.status.code == 202,
            let wait = head.headers.first(name: "retry-after").flatMap({ RetryAfter.duration($0, now: now) })
        else { return nil }
        return pending(
            reason: "\(request) was answered 202: the destination still makes the answer, and is asked again", for: wait
        )
    }

    /// The failure of an execution that was stopped before it delivered anything. It is not ambiguous.
    package static func stopped(_ what: String) -> CommandFailure {
        CommandFailure(.link, reason: "\(what) was stopped before it began")
    }
}
