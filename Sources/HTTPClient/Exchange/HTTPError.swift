internal import Glibc

/// Why there was no complete response. The cases are facts about the transport. ``HTTPVerdict`` decides by
/// the case, never by a text, what they mean for a command.
package enum HTTPError: Error, Equatable {
    /// The name has no address now: getaddrinfo(3) answered `code`.
    case nameNotResolved(host: String, code: Int32)
    /// The client may not talk to the origin, or to any address of its host: why not, in a clause. Nothing was sent.
    case notPermitted(String)
    /// connect(2) failed for every address; `code` is the errno of the first.
    case connectFailed(code: Int32)
    /// Name lookup, connection and TLS handshake together took too long.
    case connectTimeout
    /// The TLS handshake failed.
    case tls(TLSProblem)
    /// The proxy did not open a tunnel; nil where it did not answer with HTTP.
    case proxyRefused(status: Int?)
    /// The peer closed the connection before a final response.
    case closed
    /// The connection was reset, or lost by a dead network, while it was in use.
    case broken(code: Int32)
    /// No byte moved either way for ``HTTPClientConfiguration/idleTimeout``.
    case stalled
    /// The peer of a kept connection acknowledged nothing of a repeatable request.
    case keptConnectionSilent
    /// The request was received, and no final response came in ``HTTPRequest/Options/responseTimeout``.
    case responseTimeout
    /// A response head did not end within ``HTTPClientConfiguration/headTimeout``.
    case headTimeout
    /// A response's body took longer than ``HTTPRequest/Options/bodyTimeout`` after its head.
    case bodyTimeout
    /// A response head of more than 64 KiB; nil where its first line has no status.
    case headTooLarge(status: Int?)
    /// The response is not HTTP/1.1; with the status of its first line, where that is HTTP.
    case invalidResponse(String, status: Int? = nil)
    /// The response refused the rest of the body.
    case refusedBody
    /// The exchange was stopped by its owner.
    case stopped
    /// The client could not prepare the connection: a certificate file, a descriptor.
    case local(String)

    /// The status of a final response whose head could not be read to its end. The status alone
    /// says whether the server did the work.
    package var status: Int? {
        switch self {
        case .headTooLarge(let status?), .invalidResponse(_, let status?): status >= 200 ? status : nil
        default: nil
        }
    }
}
