internal import Commands
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

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
