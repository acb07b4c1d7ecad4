import Commands
import Door
import Foundation
import HTTPTypes
import NIOSSL
import Synchronization
import TestSupport
import Testing

struct TLSTests {
    /// A certificate in files, which a test replaces.
    private struct Files {
        let directory: TemporaryDirectory
        let paths: CertificateFiles

        init(_ identity: TestIdentity) throws {
            directory = try TemporaryDirectory()
            paths = CertificateFiles(chain: "\(directory.path)/chain.pem", key: "\(directory.path)/key.pem")
            try write(certificate: identity.certificate, key: identity.key)
        }

        func write(certificate: String, key: String) throws {
            try certificate.write(toFile: paths.chain, atomically: true, encoding: .utf8)
            try key.write(toFile: paths.key, atomically: true, encoding: .utf8)
        }
    }

    private let identity = TestIdentity.selfSigned

    /// A client that trusts one certificate.
    private func client(trusting identity: TestIdentity) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(identity.certificate.utf8)))
        return try NIOSSLContext(configuration: configuration)
    }

    private func withDoor(
        completed: Shared<[CompletedRequest]> = Shared([]),
        _ body: (TestDoor, CertificateSource, Files) async throws -> Void
    ) async throws {
        let files = try Files(identity)
        defer { files.directory.remove() }
        let source = try CertificateSource(files.paths)
        var setup = TestDoor.configured { $0.certificate = source }
        setup.observe = { request in completed.change { $0.append(request) } }
        try await setup.run { door in try await body(door, source, files) }
    }

    @Test func `requests are answered over TLS, with links of https`() async throws {
        try await withDoor { door, _, _ in
            let client = try await RawClient.connect(port: door.port, tls: client(trusting: identity))
            let response = try await client.exchange("GET /facts/a HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(response.body.contains(" https://localhost "))
            #expect(try await client.exchange("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 200)
            await client.close()
        }
    }

    @Test func `a client without TLS is disconnected`() async throws {
        try await withDoor { door, _, _ in
            let client = try await door.connect()
            try await client.send("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try await client.ended()
            #expect(!client.text.contains("hello"))
            await client.close()
        }
    }

    @Test func `a replaced certificate serves new connections, and old ones go on`() async throws {
        let other = TestAuthority("Another", hosts: ["localhost"]).identity
        try await withDoor { door, source, files in
            let old = try await RawClient.connect(port: door.port, tls: client(trusting: identity))
            #expect(try await old.exchange("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 200)
            try files.write(certificate: other.certificate, key: other.key)
            try source.reload()
            let new = try await RawClient.connect(port: door.port, tls: client(trusting: other))
            #expect(try await new.exchange("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 200)
            #expect(try await old.exchange("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 200)
            #expect(source.expires > .now)
            await old.close()
            await new.close()
        }
    }

    @Test(arguments: ["another key", "no key", "no certificate", "no file"])
    func `files that do not fit leave the old certificate in use`(fault: String) async throws {
        let other = TestAuthority("Another", hosts: ["localhost"]).identity
        try await withDoor { door, source, files in
            switch fault {
            case "another key": try files.write(certificate: identity.certificate, key: other.key)
            case "no key": try files.write(certificate: identity.certificate, key: "-----BEGIN PRIVATE KEY-----\n")
            case "no certificate": try files.write(certificate: "none", key: identity.key)
            default: try FileManager.default.removeItem(atPath: files.paths.chain)
            }
            let error = try #require(throws: DoorServerError.self) { try source.reload() }
            #expect(error.description.contains(files.directory.path), "\(error)")
            #expect(!source.isCurrent)
            let client = try await RawClient.connect(port: door.port, tls: client(trusting: identity))
            #expect(try await client.exchange("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 200)
            await client.close()
            try files.write(certificate: identity.certificate, key: identity.key)
            try source.reload()
            #expect(source.isCurrent)
        }
    }

    @Test func `a body that was cut is not taken for a whole one`() async throws {
        let completed = Shared<[CompletedRequest]>([])
        try await withDoor(completed: completed) { door, _, _ in
            let client = try await RawClient.connect(port: door.port, tls: client(trusting: identity))
            try await client.send(
                "POST /echo HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\nContent-Length: 100\r\n\r\nabc")
            try await until("the request") { door.server.statistics.activeRequests.load(ordering: .relaxed) == 1 }
            await client.close()
            try await until("its end") { !completed.value.isEmpty }
            #expect(completed.value.map(\.status.code) == [400], "\(completed.value)")
        }
    }
}
