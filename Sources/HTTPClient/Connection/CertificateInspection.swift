internal import Glibc
internal import NIOCore
internal import NIOSSL
internal import Synchronization

/// A handshake that trusts every certificate and records what the server shows. No request is sent over its
/// connection.
final class CertificateInspection: Sendable {
    private struct Observation {
        /// The dates of each certificate of the chain, in Unix seconds.
        var dates: [(notBefore: Int64, notAfter: Int64)] = []
        var serverDemandedCertificate = false
    }

    private let seen = Mutex(Observation())

    func handler(for origin: HTTPOrigin) throws -> NIOSSLClientHandler {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.trustRoots = .certificates([])
        configuration.sslContextCallback = { [self] _, promise in
            // BoringSSL asks for a context in a client's handshake when the server has asked for a certificate.
            seen.withLock { $0.serverDemandedCertificate = true }
            promise.succeed(.noChanges)
        }
        return try NIOSSLClientHandler(
            context: NIOSSLContext(configuration: configuration), serverHostname: origin.nameForTLS
        ) { [self] certificates, promise in
            seen.withLock { seen in
                seen.dates = certificates.map { (Int64($0.notValidBefore), Int64($0.notValidAfter)) }
            }
            promise.succeed(.certificateVerified)
        }
    }

    /// Replaces the error of the previous handshake by a more precise one where this handshake shows one.
    func verdict(_ error: HTTPError) -> HTTPError {
        let now = Int64(time(nil))
        return seen.withLock { seen in
            switch error {
            case .tls(.certificateUntrusted):
                guard let dates = seen.dates.first(where: { now < $0.notBefore || now > $0.notAfter }) else {
                    return error
                }
                return .tls(.certificateDates(notBefore: dates.notBefore, notAfter: dates.notAfter))
            case .tls(.other): return seen.serverDemandedCertificate ? .tls(.clientCertificateDemanded) : error
            default: return error
            }
        }
    }
}
