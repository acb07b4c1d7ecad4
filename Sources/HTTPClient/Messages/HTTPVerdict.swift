package import Commands
internal import Glibc
internal import Host
internal import NIOCore
internal import NIOHTTP1

/// Decides what the outcome of a request means for its command. This table is the only one: it says whose
/// fault a failure is, whether it is charged, and whether a byte may have been delivered.
///
/// | response | fault | charged | ambiguous | remarks |
/// |---|---|---|---|---|
/// | 2xx, whole body sent | success | – | – | also where the body of the response is cut off or slow |
/// | 2xx before the whole body was sent, then cut off | command | yes | yes | |
/// | 3xx | command | yes | no | final within a host; of three commands to one target: destination, not charged |
/// | 401 | credential | no | no | after 3 commands one probe a minute; the reason names the challenge |
/// | 408, 421 | command | yes | no | first sent again over another connection |
/// | 423, 425, 429 | command | yes | no | `Retry-After` is a lower bound; 429 also slows the destination |
/// | other 4xx | final | – | no | with `Retry-After`, or a 403 with ``RequestLimit``: command, charged; equal for 5 commands: destination, not charged |
/// | 413 | final | – | no | for 5 commands: files of that size wait |
/// | 502, 504 | command | yes | yes | |
/// | 503 while other commands are answered | command | yes | no | slows the destination; `Retry-After` is a lower bound |
/// | 503 with no answer to another command in 10 s | link | no | no | the same; `DestinationEvidence` decides |
/// | 507 | destination | no | no | one probe a minute |
/// | 511 | link | no | no | comes from the login page of a network, not from the destination |
/// | other 5xx | command | yes | no | |
///
/// | no response | fault | charged | ambiguous once sent |
/// |---|---|---|---|
/// | name, connect, connect timeout, TLS handshake cut | link | no | – |
/// | certificate: dates, name, issuer; client certificate demanded; TLS 1.1 or older; proxy authentication | destination | no | – |
/// | proxy refuses otherwise | link | no | – |
/// | address not permitted | final | – | – |
/// | closed or reset during the request | reset; the executor decides: command where others succeed, else link | by that | yes |
/// | stall, silent kept connection | link | no | yes |
/// | no response within `responseTimeout`; a head that is too slow, too large or not HTTP | command | yes | yes |
///
/// A request of which no byte was sent is never ambiguous. Sources: RFC 9110, sections 9.2.2 and 15; RFC
/// 6585; RFC 8996.
package struct HTTPVerdict {
    /// The request in messages: `PUT https://media.example.com/in/a.mp4`.
    package let request: String
    /// The destination in messages: `https://media.example.com:443`.
    package let destination: Destination
    package let now: Timestamp

    package init(request: String, destination: Destination, now: Timestamp) {
        self.request = request
        self.destination = destination
        self.now = now
    }

    /// - Returns: nil for success.
    package func failure(_ record: HTTPRecord) -> CommandFailure? {
        guard let head = record.head else {
            return failure(record.error ?? HTTPError.closed, mayHaveSent: record.mayHaveSent)
        }
        if (200..<300).contains(head.status.code), !record.sentAll {
            return CommandFailure(
                .command,
                reason: "\(request) was answered \(head.status.code) before the whole file was sent, and then cut off",
                ambiguous: true)
        }
        return failure(head, record.body)
    }

    // MARK: Responses

    private func failure(_ head: HTTPResponseHead, _ body: ByteBuffer) -> CommandFailure? {
        let code = Int(head.status.code)
        guard var failure = failure(code, head, body) else { return nil }
        failure.isPushback = code == 429 || code == 503 || (code == 403 && failure.retryAfter != nil)
        failure.isAnswer = code != 511
        failure.isUnavailable = code == 503
        return failure
    }

    private func failure(_ code: Int, _ head: HTTPResponseHead, _ body: ByteBuffer) -> CommandFailure? {
        let answer = "\(request) was answered \(code) \(SingleLine.text(head.status.reasonPhrase, limit: 80))"
        let reason = answer + BodyExcerpt.clause(String(buffer: body), status: code, phrase: head.status.reasonPhrase)
        let wait = RequestLimit.retryAfter(code, now: now) { head.headers.first(name: $0) }
            .flatMap { RetryAfter.duration($0, now: now) }
        switch code {
        case 200..<300: return nil
        case 300..<400:
            let location = head.headers.first(name: "location").map {
                " to \(SingleLine.text(HTTPHeaderRedaction.shown(url: $0), limit: 300))"
            }
            if code == 303, let location {
                return CommandFailure(
                    .final,
                    reason:
                        "\(answer): a redirect\(location), which may say that the action was done, or that a login is "
                        + "needed; with 303 among the accepted statuses it is a success")
            }
            return CommandFailure(
                .final,
                reason:
                    "\(answer): a redirect\(location ?? ""), which is not followed, because the credentials were meant "
                    + "for \(destination); submit to that URL if it is right")
        case 401: return CommandFailure(.credential, reason: reason + unauthorized(head), retryAfter: wait)
        case 502, 504: return CommandFailure(.command, reason: reason, ambiguous: true, retryAfter: wait)
        case 503, 511: return CommandFailure(.link, reason: reason, retryAfter: wait)
        case 507:
            return CommandFailure(.destination, reason: "\(reason); make room at \(destination)", retryAfter: wait)
        case 408, 421, 423, 425, 429, 500..<600: return CommandFailure(.command, reason: reason, retryAfter: wait)
        case 400..<500: return CommandFailure(wait == nil ? .final : .command, reason: reason, retryAfter: wait)
        default:
            return CommandFailure(
                .command, reason: "\(answer), which is not a final response to an upload", ambiguous: true)
        }
    }

    private func unauthorized(_ head: HTTPResponseHead) -> String {
        let schemes = head.headers["www-authenticate"].flatMap(Challenge.schemes)
        let isKnown = schemes.isEmpty || schemes.contains { ["basic", "bearer"].contains($0.lowercased()) }
        let asked = schemes.isEmpty ? "" : "; it asks for \(schemes.joined(separator: " or "))"
        return isKnown
            ? "\(asked); check the credential for \(destination) in sluice.yaml"
            : "\(asked), which Sluice does not speak; give it a bearer token, basic authentication or a header of its own"
    }

    // MARK: Errors

    private func failure(_ error: any Error, mayHaveSent: Bool) -> CommandFailure {
        switch error {
        case let failure as CommandFailure:
            var failure = failure
            failure.ambiguous = failure.ambiguous || mayHaveSent
            return failure
        case let error as HTTPError: return failure(error, mayHaveSent: mayHaveSent)
        default: return CommandFailure(.command, reason: "\(request) failed: \(error.words)", ambiguous: mayHaveSent)
        }
    }

    private func failure(_ error: HTTPError, mayHaveSent: Bool) -> CommandFailure {
        switch error {
        case .nameNotResolved(let host, let code):
            return link("the name \(host) cannot be resolved: \(Self.words(resolver: code))")
        case .notPermitted(let objection):
            return CommandFailure(.final, reason: "\(request) was not sent: \(objection)")
        case .connectFailed(let code): return link(words(connecting: code))
        case .connectTimeout: return link("no connection to \(destination) within the connect timeout")
        case .tls(let problem):
            var failure = failure(problem, mayHaveSent: mayHaveSent)
            // A certificate or an alert has arrived, so the link works.
            failure.isAnswer = failure.fault == .destination
            return failure
        case .proxyRefused(407):
            return CommandFailure(
                .destination,
                reason:
                    "the proxy for \(destination) demands authentication (407); name it as http://user:password@host")
        case .proxyRefused(let status):
            return link(
                "the proxy opens no tunnel to \(destination): \(status.map { "it answered \($0)" } ?? "no answer")")
        case .closed where !mayHaveSent: return link("\(destination) closed the connection at once")
        case .closed:
            return CommandFailure(
                .reset, reason: "\(destination) closed the connection before it answered \(request)", ambiguous: true)
        case .broken(let code) where !mayHaveSent: return link(words(connecting: code))
        case .broken(let code):
            return CommandFailure(.reset, reason: "\(request) was cut off: \(SystemError(code))", ambiguous: true)
        case .stalled, .keptConnectionSilent:
            return CommandFailure(
                .link, reason: "\(request) stalled: no byte moved either way for too long", ambiguous: mayHaveSent)
        case .responseTimeout:
            return command(
                "\(destination) received all of \(request) and did not answer in time; "
                    + "upload.responseTimeout says how long to wait", mayHaveSent)
        case .headTimeout: return command("the response to \(request) did not get past its head in time", mayHaveSent)
        case .headTooLarge: return command("\(request) was answered with a head of more than 64 KiB", mayHaveSent)
        case .invalidResponse(let what, _):
            return command("\(request) was answered with something that is not HTTP: \(what)", mayHaveSent)
        case .local(let sentence): return CommandFailure(.destination, reason: "\(request) was not sent: \(sentence)")
        case .bodyTimeout, .refusedBody, .stopped: return command("\(request) was cut short", mayHaveSent)
        }
    }

    private func failure(_ problem: TLSProblem, mayHaveSent: Bool) -> CommandFailure {
        switch problem {
        case .certificateDates(let notBefore, let notAfter):
            let (start, end) = (Self.timestamp(notBefore), Self.timestamp(notAfter))
            return untrusted(
                now < start ? "its certificate is not yet valid" : "its certificate has expired",
                "it is valid from \(start) to \(end), and this host's clock says \(now); renew it there, or set the clock"
            )
        case .certificateName:
            return untrusted("its certificate names another host", "correct it there, or the URL here")
        case .certificateUntrusted:
            return untrusted(
                "its certificate is not trusted",
                "renew it there, or name its issuer in upload.trustRootsFile or the destination's trustRootsFile")
        case .clientCertificateDemanded:
            return CommandFailure(
                .destination,
                reason:
                    "\(destination) demands a client certificate that it accepts; name one as clientCertificateFile "
                    + "and clientKeyFile of the destination in sluice.yaml")
        case .versionTooOld:
            return CommandFailure(
                .destination,
                reason: "\(destination) does not support TLS 1.2 or newer; older versions are not secure (RFC 8996)")
        case .interrupted where mayHaveSent:
            return CommandFailure(.reset, reason: "\(request) was cut off within TLS", ambiguous: true)
        case .interrupted: return link("\(destination) closed the connection during the TLS handshake")
        case .other(let words) where mayHaveSent:
            return CommandFailure(.reset, reason: "\(request) was cut off: \(words)", ambiguous: true)
        case .other(let words): return link("no TLS connection to \(destination): \(words)")
        }
    }

    /// - Parameter seconds: Unix time; years beyond 1 to 9999 are clamped.
    private static func timestamp(_ seconds: Int64) -> Timestamp {
        Timestamp(milliseconds: min(max(seconds, -62_135_596_800), 253_402_300_799) * 1000)
    }

    /// The failure of a handshake, which comes before the request: nothing was sent.
    private func untrusted(_ problem: String, _ remedy: String) -> CommandFailure {
        CommandFailure(.destination, reason: "\(destination) is not trusted: \(problem); \(remedy)")
    }

    private func link(_ reason: String) -> CommandFailure { CommandFailure(.link, reason: reason) }

    private func command(_ reason: String, _ mayHaveSent: Bool) -> CommandFailure {
        CommandFailure(.command, reason: reason, ambiguous: mayHaveSent)
    }

    private static func words(resolver code: Int32) -> String {
        switch code {
        case EAI_NONAME: "it is unknown"
        case EAI_AGAIN: "the resolver does not answer"
        case EAI_SYSTEM, 0: "the resolver failed"
        default: String(cString: gai_strerror(code))
        }
    }

    private func words(connecting code: Int32) -> String {
        switch code {
        case ECONNREFUSED: "\(destination) refuses connections; is it running?"
        case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EHOSTDOWN: "\(destination) is unreachable: \(SystemError(code))"
        default: "no connection to \(destination): \(SystemError(code))"
        }
    }
}

/// `WWW-Authenticate` (RFC 9110, section 11.6.1).
enum Challenge {
    /// The schemes of one field value, in order: `Digest` and `Basic` of
    /// `Digest realm="a, b", Basic realm="c"`. At most 8, each of at most 32 bytes.
    static func schemes(_ value: String) -> [String] {
        var schemes: [String] = []
        for part in parts(value) where schemes.count < 8 {
            let words = part.split(separator: UInt8(ascii: " "), maxSplits: 1)
            guard let first = words.first, !first.isEmpty, first.count <= 32, first.allSatisfy(\.isTokenCharacter),
                // `name=value` is a parameter of the previous scheme. So is `name =value`, an old and rare form.
                !(words.count > 1 && words[1].first == UInt8(ascii: "="))
            else { continue }
            schemes.append(String(decoding: first, as: UTF8.self))
        }
        return schemes
    }

    /// The parts between commas that are outside quotes.
    private static func parts(_ value: String) -> [ArraySlice<UInt8>] {
        Array(value.utf8).parts(separatedOutsideQuotesBy: UInt8(ascii: ",")).map { part in
            part.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        }
    }
}
