internal import NIOSSL

/// A certificate, the chain behind it, and its key, all in PEM. For tests on this host only: the key is public.
package struct TestIdentity: Sendable {
    /// The certificate, then the certificates of its issuers without the root.
    package var certificate: String
    package var key: String

    /// - Parameters:
    ///   - certificate: the certificate with its chain, in PEM.
    ///   - key: the private key, in PEM.
    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    /// The TLS versions of a server.
    package enum Versions: Sendable {
        /// 1.2 and 1.3.
        case modern
        case only12
        case only13
        /// 1.0 and 1.1, which RFC 8996 forbids.
        case obsolete
    }

    /// A self-signed identity for `localhost` and 127.0.0.1, valid from 2000 to 2125, so that it is valid for
    /// every clock of a test.
    package static let selfSigned = TestAuthority("Test server", hosts: ["localhost", "127.0.0.1"]).identity

    /// - Parameter clientRoots: the issuers of the certificate that a client must present; nil if it needs
    /// none.
    func serverContext(clientRoots: String?, versions: Versions) throws -> NIOSSLContext {
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        switch versions {
        case .modern: configuration.minimumTLSVersion = .tlsv12
        case .only12: (configuration.minimumTLSVersion, configuration.maximumTLSVersion) = (.tlsv12, .tlsv12)
        case .only13: configuration.minimumTLSVersion = .tlsv13
        case .obsolete: (configuration.minimumTLSVersion, configuration.maximumTLSVersion) = (.tlsv1, .tlsv11)
        }
        if let clientRoots {
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(clientRoots.utf8)))
            configuration.certificateVerification = .noHostnameVerification
        }
        return try NIOSSLContext(configuration: configuration)
    }
}
