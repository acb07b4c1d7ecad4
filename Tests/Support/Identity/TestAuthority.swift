internal import Crypto

/// A certificate authority of a test: a self-signed root, or an intermediate authority. Certificates are
/// X.509 version 3 (RFC 5280) with keys and signatures of P-256.
package struct TestAuthority: Sendable {
    /// The validity of a certificate, in seconds since 1970.
    package struct Validity: Sendable, Equatable {
        package var from: Int64
        package var until: Int64

        package init(from: Int64, until: Int64) {
            self.from = from
            self.until = until
        }

        /// From 2000 to 2125.
        package static let always = Validity(from: 946_684_800, until: 4_891_363_200)
        /// In 2001.
        package static let expired = Validity(from: 978_307_200, until: 1_009_843_199)
        /// From 2100 to 2125.
        package static let notYet = Validity(from: 4_102_444_800, until: 4_891_363_200)
    }

    private let name: String
    private let key: P256.Signing.PrivateKey
    /// The certificate of the authority, in PEM.
    package let certificate: String
    /// The certificates between this authority and the root, in PEM, which a server has to send; empty for a
    /// root.
    private let chain: String

    /// Makes a root.
    /// - Parameter hosts: the names and IPv4 addresses of its own certificate.
    package init(_ name: String, hosts: [String] = [], validity: Validity = .always) {
        let key = P256.Signing.PrivateKey()
        self.name = name
        self.key = key
        certificate = Self.sign(
            CertificateFields(subject: name, issuer: name, hosts: hosts, validity: validity, isAuthority: true),
            key.publicKey, by: key)
        chain = ""
    }

    private init(_ name: String, key: P256.Signing.PrivateKey, certificate: String, chain: String) {
        self.name = name
        self.key = key
        self.certificate = certificate
        self.chain = chain
    }

    /// The certificate and key of the authority, for a server.
    package var identity: TestIdentity { TestIdentity(certificate: certificate, key: key.pemRepresentation + "\n") }

    /// Issues an intermediate authority.
    package func authority(_ name: String) -> TestAuthority {
        let key = P256.Signing.PrivateKey()
        let certificate = Self.sign(
            CertificateFields(subject: name, issuer: self.name, hosts: [], validity: .always, isAuthority: true),
            key.publicKey, by: self.key)
        return TestAuthority(name, key: key, certificate: certificate, chain: certificate + chain)
    }

    /// Issues a certificate for a server or a client.
    /// - Parameter hosts: the names and IPv4 addresses of the certificate; the first is its subject.
    package func issue(_ hosts: String..., validity: Validity = .always) -> TestIdentity {
        let key = P256.Signing.PrivateKey()
        let certificate = Self.sign(
            CertificateFields(
                subject: hosts.first ?? "nameless", issuer: name, hosts: hosts, validity: validity, isAuthority: false),
            key.publicKey, by: self.key)
        return TestIdentity(certificate: certificate + chain, key: key.pemRepresentation + "\n")
    }

    private static func sign(
        _ facts: CertificateFields, _ key: P256.Signing.PublicKey, by issuer: P256.Signing.PrivateKey
    ) -> String {
        let content = facts.encoded(publicKey: [UInt8](key.derRepresentation))
        do {
            let signature = [UInt8](try issuer.signature(for: content).derRepresentation)
            return PEM.text(
                "CERTIFICATE",
                DER.sequence([content, CertificateFields.algorithm, DER.bitString(signature)]))
        } catch {
            preconditionFailure("a key in memory signs: \(error)")
        }
    }
}
