import Door
import NIOSSL
import TestSupport
import Testing

struct TLSTests {
    private let identity = TestIdentity.selfSigned

    private func server() throws -> TLSConfiguration {
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificate.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        return configuration
    }

    private func client() throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(identity.certificate.utf8)))
        return try NIOSSLContext(configuration: configuration)
    }

    @Test func `requests are answered over TLS, with links of https`() async throws {
        let tls = try server()
        try await TestDoor.configured { $0.tls = tls }.run { door in
            let client = try await RawClient.connect(port: door.port, tls: client())
            let response = try await client.exchange("GET /facts/a HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(response.body.contains(" https://localhost "))
            #expect(try await client.exchange("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 200)
            await client.close()
        }
    }

    @Test func `a client without TLS is disconnected`() async throws {
        let tls = try server()
        try await TestDoor.configured { $0.tls = tls }.run { door in
            let client = try await door.connect()
            try await client.send("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try await client.ended()
            #expect(!client.text.contains("hello"))
            await client.close()
        }
    }
}
