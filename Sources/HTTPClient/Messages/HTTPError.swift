internal import Commands
internal import Glibc
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

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

/// Why a TLS handshake failed.
package enum TLSProblem: Sendable, Equatable {
    /// The certificate has expired or is not valid yet; Unix seconds.
    case certificateDates(notBefore: Int64, notAfter: Int64)
    /// The certificate does not name the host.
    case certificateName
    /// The certificate's issuer is not trusted, or its chain is broken.
    case certificateUntrusted
    /// The server demands a client certificate, or a different one.
    case clientCertificateDemanded
    /// The server speaks TLS 1.1 or older only (RFC 8996 forbids them).
    case versionTooOld
    /// The connection ended or broke during the handshake.
    case interrupted
    /// Any other failure, in the words of OpenSSL.
    case other(String)
}

extension HTTPError {
    /// Whether the connection itself has ended; otherwise a limit of the exchange was exceeded.
    var isOfConnection: Bool {
        switch self {
        case .closed, .broken, .keptConnectionSilent: true
        default: false
        }
    }

    /// Classifies an error of a connection in use.
    init(_ error: any Error, _ scanner: ResponseHeadScanner) {
        switch error {
        case let error as HTTPError: self = error
        // A head was cut off, or a body.
        case HTTPParserError.invalidEOFState, ChannelError.inputClosed, ChannelError.eof,
            ChannelError.ioOnClosedChannel,
            NIOSSLError.uncleanShutdown:
            self = .closed
        case HTTPParserError.headerOverflow: self = .headTooLarge(status: scanner.status)
        case let error as HTTPParserError: self = .invalidResponse(error.words, status: scanner.status)
        case let error as IOError: self = .broken(code: error.errnoCode)
        case let error as NIOSSLError: self = .tls(TLSProblem(error))
        case let error as BoringSSLError: self = .tls(TLSProblem(error))
        default: self = .invalidResponse(error.words, status: scanner.status)
        }
    }

    /// Classifies an error before the first exchange.
    init(connecting error: any Error, to host: String) {
        switch error {
        case let error as HTTPError: self = error
        case ChannelError.connectTimeout: self = .connectTimeout
        case let error as NIOConnectionError:
            let codes = error.connectionErrors.lazy.compactMap { ($0.error as? IOError)?.errnoCode }
            let failures = [error.dnsAError, error.dnsAAAAError].lazy.compactMap { $0 as? HTTPError }
            if let code = codes.first {
                self = .connectFailed(code: code)
            } else if !error.connectionErrors.isEmpty {
                self = .connectTimeout
            } else {
                self = failures.first ?? .nameNotResolved(host: host, code: 0)
            }
        case let error as IOError: self = .connectFailed(code: error.errnoCode)
        case let error as NIOSSLError: self = .tls(TLSProblem(error))
        case let error as BoringSSLError: self = .tls(TLSProblem(error))
        case is NIOSSLExtraError: self = .tls(.certificateName)
        case ChannelError.ioOnClosedChannel, ChannelError.inputClosed, ChannelError.eof: self = .closed
        default: self = .local(error.words)
        }
    }
}

extension TLSProblem {
    init(_ error: NIOSSLError) {
        switch error {
        case .handshakeFailed(let error): self = TLSProblem(error)
        case .uncleanShutdown: self = .interrupted
        case .unableToValidateCertificate, .noCertificateToValidate: self = .certificateUntrusted
        default: self = .other(error.words)
        }
    }

    init(_ error: BoringSSLError) {
        switch error {
        case .sslError(let stack), .unknownError(let stack):
            self =
                stack.lazy.compactMap { TLSProblem(reason: Self.reason("\($0)")) }.first
                ?? .other(stack.lazy.map { Self.words("\($0)") }.first ?? "no reason given")
        case .syscallError, .zeroReturn: self = .interrupted
        default: self = .other(error.words)
        }
    }

    /// - Parameter reason: a reason of OpenSSL's library 16 (SSL), or 1000 + n for the alert n of RFC 8446,
    ///   section 6.2.
    private init?(reason: Int?) {
        switch reason {
        case 125: self = .certificateUntrusted
        // 116 is certificate_required. 41 to 46 and 48 concern the certificate that was shown, or its absence (TLS
        // 1.2).
        case 1116, 1041, 1042, 1043, 1044, 1045, 1046, 1048: self = .clientCertificateDemanded
        case 240, 1070: self = .versionTooOld
        default: return nil
        }
    }

    /// The number of the reason in OpenSSL's form `error:10000415:SSL routines:…`: its last 12 bits.
    private static func reason(_ text: String) -> Int? {
        words(text).utf8.split(separator: UInt8(ascii: ":")).dropFirst().first
            .flatMap { UInt32(Substring($0), radix: 16) }.map { Int($0 & 0xFFF) }
    }

    /// The text from `error:` on, without the path of the build.
    private static func words(_ text: String) -> String {
        guard let start = text.firstRange(of: "error:") else { return text }
        let words = text[start.lowerBound...]
        return String(words[..<(words.firstRange(of: " at ")?.lowerBound ?? words.endIndex)])
    }
}
