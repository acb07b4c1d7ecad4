internal import NIOSSL

/// A certificate and its key, both in PEM. For tests on this host only: the key is public.
package struct TestIdentity: Sendable {
    package var certificate: String
    package var key: String

    /// Signed by itself for `localhost` and 127.0.0.1, from 2000 to 2125, so that no clock of a test makes it invalid.
    package static let selfSigned = TestIdentity(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBTDCB8qADAgECAgEBMAoGCCqGSM49BAMCMBYxFDASBgNVBAMMC1NsdWljZSB0
            ZXN0MCAXDTAwMDEwMTAwMDAwMFoYDzIxMjUwMTAxMDAwMDAwWjAWMRQwEgYDVQQD
            DAtTbHVpY2UgdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABJgQhA67lyZw
            y+O9Gx0M3fDZ2h5J2L+u4E6wf1OH3N8rbjRqEf8v54puoTAX79mZBqYUK+oYR5ez
            Psrh1h7K/YqjLzAtMBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcEfwAAATAPBgNVHRMB
            Af8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQCKiURi0zoQ/9Q0iOpRJ8aJNb94
            SNOD6r3oYcUPJNK4YgIhAJ9GmjSW9zC7+HPygSG+RJVhvOZQDLqqYzeZfRXtp+bN
            -----END CERTIFICATE-----

            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgZc0CnaAyiV0G28oq
            t7mVfsBkR+wzrbeVAmRoNJGupzahRANCAASYEIQOu5cmcMvjvRsdDN3w2doeSdi/
            ruBOsH9Th9zfK240ahH/L+eKbqEwF+/ZmQamFCvqGEeXsz7K4dYeyv2K
            -----END PRIVATE KEY-----

            """)

    func serverContext() throws -> NIOSSLContext {
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)
        return try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key)))
    }
}
