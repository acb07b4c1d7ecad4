internal import AsyncHTTPClient
internal import Commands
internal import Glibc
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// What a request's end means for its command: whose fault a failure is, and whether a byte may have been delivered.
struct HTTPVerdict {
    /// `PUT https://media.example.com/in/a.mp4`, for messages.
    let request: String
    /// `https://media.example.com:443`, for messages.
    let destination: Destination
    let now: Timestamp

    /// - Returns: nil for success.
    func failure(_ record: HTTPRecord) -> Failure? {
        guard let head = record.head else {
            return failure(record.error ?? HTTPClientError.remoteConnectionClosed, began: record.began)
        }
        if (200..<300).contains(head.status.code), !record.sentAll {
            return Failure(
                .command,
                reason: "\(request) was answered \(head.status.code) before the whole file was sent, and then cut off",
                ambiguous: true)
        }
        return failure(head, record.body)
    }

    // MARK: Responses

    private func failure(_ head: HTTPResponseHead, _ body: ByteBuffer) -> Failure? {
        let code = Int(head.status.code)
        var failure = failure(code, head, body)
        failure?.isPushback = code == 429 || code == 503
        failure?.isAnswer = true
        return failure
    }

    private func failure(_ code: Int, _ head: HTTPResponseHead, _ body: ByteBuffer) -> Failure? {
        let answer = "\(request) was answered \(code) \(Self.printable(head.status.reasonPhrase, limit: 80))"
        let reason = answer + Self.quoted(body)
        let wait = head.headers.first(name: "retry-after").flatMap { RetryAfter.duration($0, now: now) }
        switch code {
        case 200..<300: return nil
        case 300..<400:
            let location = head.headers.first(name: "location").map {
                " to \(Self.printable(HTTPHeaderRedaction.shown(url: $0), limit: 300))"
            }
            return Failure(
                .final,
                reason:
                    "\(answer): a redirect\(location ?? ""), which is not followed, for the credentials were meant for "
                    + "\(destination); submit to that URL if it is right")
        case 401:
            return Failure(
                .credential, reason: "\(reason); check the credential for \(destination) in sluice.yaml",
                retryAfter: wait)
        case 503: return Failure(.link, reason: reason, retryAfter: wait)
        case 502, 504: return Failure(.command, reason: reason, ambiguous: true, retryAfter: wait)
        case 408, 425, 429, 500..<600: return Failure(.command, reason: reason, retryAfter: wait)
        case 400..<500: return Failure(.final, reason: reason)
        default:
            return Failure(.command, reason: "\(answer), which is no final answer to an upload", ambiguous: true)
        }
    }

    /// `: “Disk full”`; empty where there is no text.
    private static func quoted(_ body: ByteBuffer) -> String {
        let text = printable(String(buffer: body), limit: 200)
        return text.isEmpty ? "" : ": “\(text)”"
    }

    /// One line without control characters.
    private static func printable(_ text: String, limit: Int) -> String {
        var line = ""
        for scalar in text.unicodeScalars.prefix(limit * 4) {
            let isControl = scalar.properties.generalCategory == .control
            line.unicodeScalars.append(isControl ? " " : scalar)
        }
        line = line.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
        return line.count > limit ? line.prefix(limit) + "…" : line
    }

    // MARK: Errors

    private func failure(_ error: any Error, began: Bool) -> Failure {
        switch error {
        case let failure as Failure:
            var failure = failure
            failure.ambiguous = failure.ambiguous || began
            return failure
        case is StallError:
            return Failure(.link, reason: "\(request) stalled: no byte moved either way for too long", ambiguous: began)
        case let error as HTTPClientError: return failure(error, began: began)
        case ChannelError.ioOnClosedChannel where !began: return link("\(destination) closed the connection at once")
        case ChannelError.connectTimeout: return link("no connection to \(destination) within the connect time-out")
        case let error as NIOConnectionError: return link(words(error))
        case is NIOSSLExtraError: return certificate("its certificate names another host", began)
        case let error as NIOSSLError: return failure(error, began: began)
        case let error as IOError where !began:
            return link(words(error.errnoCode))
        case let error as IOError:
            return Failure(
                .reset, reason: "\(request) was cut off: \(SystemError(error.errnoCode))", ambiguous: true)
        case is HTTPParserError:
            return Failure(
                .command, reason: "\(request) was answered with something that is not HTTP: \(error)", ambiguous: began)
        default:
            return Failure(.command, reason: "\(request) failed: \(error)", ambiguous: began)
        }
    }

    private func failure(_ error: HTTPClientError, began: Bool) -> Failure {
        switch error {
        case .invalidURL, .emptyHost, .emptyScheme:
            return Failure(.final, reason: "\(request) cannot be sent: \(error)")
        case .connectTimeout, .getConnectionFromPoolTimeout:
            return link("no connection to \(destination) within the connect time-out")
        case .tlsHandshakeTimeout: return link("\(destination) did not finish the TLS handshake in time")
        case .readTimeout, .writeTimeout:
            return Failure(.link, reason: "\(request) stalled: no byte moved either way for too long", ambiguous: began)
        case .remoteConnectionClosed where !began: return link("\(destination) closed the connection at once")
        case .remoteConnectionClosed:
            return Failure(
                .reset, reason: "\(destination) closed the connection before it answered \(request)", ambiguous: true)
        default: return Failure(.command, reason: "\(request) failed: \(error)", ambiguous: began)
        }
    }

    private func failure(_ error: NIOSSLError, began: Bool) -> Failure {
        let text = "\(error)"
        if text.contains("CERTIFICATE_VERIFY_FAILED") { return certificate("its certificate is not trusted", began) }
        if began { return Failure(.reset, reason: "\(request) was cut off: \(text)", ambiguous: true) }
        return link("no TLS connection to \(destination): \(text)")
    }

    /// Waiting mends no certificate, and a wrong one may be an attack: a person has to look.
    private func certificate(_ problem: String, _ began: Bool) -> Failure {
        Failure(
            .final,
            reason:
                "\(destination) is not trusted: \(problem); renew it there, or name its issuer in upload.trustRootsFile, "
                + "and retry",
            ambiguous: began)
    }

    private func link(_ reason: String) -> Failure { Failure(.link, reason: reason) }

    private func words(_ error: NIOConnectionError) -> String {
        if error.connectionErrors.isEmpty, error.dnsAError != nil || error.dnsAAAAError != nil {
            return "the name \(error.host) cannot be resolved"
        }
        let codes = error.connectionErrors.compactMap { ($0.error as? IOError)?.errnoCode }
        return codes.first.map(words) ?? "no connection to \(destination): \(error)"
    }

    private func words(_ code: CInt) -> String {
        switch code {
        case ECONNREFUSED: "\(destination) refuses connections; is it running?"
        case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EHOSTDOWN: "\(destination) is unreachable: \(SystemError(code))"
        default: "no connection to \(destination): \(SystemError(code))"
        }
    }
}
