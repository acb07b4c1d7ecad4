internal import Commands
internal import NIOSSL

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
