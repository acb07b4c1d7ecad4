internal import Glibc

/// Why there was no complete response. The cases are facts about the transport; what they mean for a command is decided
/// elsewhere, by these cases and never by their text.
package enum HTTPError: Error, Equatable {
    /// The name has no address now: getaddrinfo(3) answered `code`.
    case nameNotResolved(host: String, code: Int32)
    /// No address of the host is permitted for this client.
    case addressNotPermitted(host: String)
    /// connect(2) failed for every address; `code` is the errno of the first.
    case connectFailed(code: Int32)
    /// Name lookup, connection and TLS handshake together took too long.
    case connectTimeout
    /// TLS could not be agreed on.
    case tls(TLSProblem)
    /// The proxy did not open a tunnel: its status, or nil where it answered no HTTP.
    case proxyRefused(status: Int?)
    /// The peer closed the connection before a final response.
    case closed
    /// The connection was reset, or lost by a dead network, while it was in use.
    case broken(code: Int32)
    /// No byte moved either way for ``HTTPClientConfiguration/idleTimeout``.
    case stalled
    /// A kept connection took in nothing of a repeatable request.
    case keptConnectionSilent
    /// The request was received, and no final response came in ``HTTPRequest/Options/responseTimeout``.
    case responseTimeout
    /// A response head did not end within ``HTTPClientConfiguration/headTimeout``.
    case headTimeout
    /// A response's body took longer than ``HTTPRequest/Options/bodyTimeout`` after its head.
    case bodyTimeout
    /// A response head of more than 64 KiB; `status` where its first line told one.
    case headTooLarge(status: Int?)
    /// Bytes that are not HTTP/1.1.
    case invalidResponse(String)
    /// The response refused the rest of the body.
    case refusedBody
    /// The exchange stopped it.
    case stopped
    /// The client could not prepare the connection: a certificate file, a descriptor.
    case local(String)
}
