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
