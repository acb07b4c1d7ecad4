import Commands
import Foundation
import HTTPClient
import Operations
import TestSupport
import Testing

@testable import FileOps
@testable import S3
@testable import Transfers

/// Uploads to moto, which verifies signatures by its own code.
@Suite struct S3PeerTests {
    private static func with(
        secret: String? = nil, _ body: (MotoServer, S3Operation, TemporaryDirectory) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory("moto")
        defer { directory.remove() }
        let server = try await MotoServer(in: directory.path)
        try await stopping(server) {
            let file = try directory.file("secret", Array((secret ?? server.secretKey).utf8))
            chmod(file, 0o600)
            let endpoint = Destination(scheme: "http", host: "127.0.0.1", port: server.port)
            let operation = S3Operation(
                transport: HTTPTransport(configuration: HTTPConfiguration()),
                credentials: CredentialStore(
                    [:], accessKeys: [endpoint: S3AccessKey(id: server.accessKey, secret: .file(file))]),
                evidence: DestinationEvidence())
            try await body(server, operation, directory)
        }
    }

    private func execute(
        _ operation: S3Operation, at server: MotoServer, _ file: String, _ more: [JSONValue.Member]
    ) async throws -> JSONValue {
        let attributes = try operation.inspect(
            .object(
                [
                    .init("file", .string(file)), .init("endpoint", .string(server.origin)),
                    .init("bucket", "media"), .init("partSize", .integer(5 << 20)),
                    .init("metadata", ["title": "a  b"]),
                ] + more))
        var command = Command(id: CommandID(), type: "s3", destination: attributes.destination, createdAt: .now)
        command.status = .sent
        command.idempotent = true
        let execution = CommandExecution(
            command: command, payload: attributes.payload?.bytes ?? [], meter: TransferMeter())
        return try JSONValue(parsing: try await operation.execute(execution) ?? [])
    }

    @Test(.enabled(if: isAvailable(MotoServer.isInstalled), "no Python has moto"))
    func `moto stores what was sent, in one request and in parts`() async throws {
        try await Self.with { server, operation, directory in
            // For a key with percent-encoded bytes moto 5.2.1 refuses the signatures of boto3 too.
            for (size, key) in [(9, "a//b-c_~x.txt"), (11 << 20, "in/b.mp4")] {
                let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 >> 9) }
                let file = try directory.file("source", bytes)
                for checksum in ["sha256", "md5"] {
                    let result = try await execute(
                        operation, at: server, file,
                        [.init("key", .string(key)), .init("checksum", .string(checksum))])
                    let (object, uploads) = try await server.read(key)
                    #expect(object.size == size && object.sha256 == sha256(bytes), "\(key)")
                    #expect(object.etag == "\"\(result["etag"]?.string ?? "")\"", "\(result)")
                    #expect(object.title == "a  b" && uploads == 0)
                }
            }
        }
    }

    @Test(.enabled(if: isAvailable(MotoServer.isInstalled), "no Python has moto"))
    func `moto sends what it has stored, and refuses a key without an object`() async throws {
        try await Self.with { server, operation, directory in
            let bytes = (0..<(11 << 20)).map { UInt8(truncatingIfNeeded: $0 >> 9) }
            let file = try directory.file("source", bytes)
            _ = try await execute(operation, at: server, file, [.init("key", "in/b.mp4")])
            func get(_ key: String) async throws -> JSONValue {
                let download = DownloadOperation(
                    transport: operation.transport, credentials: operation.credentials, evidence: operation.evidence,
                    umask: 0o022)
                let payload = try download.inspect([
                    "s3": ["endpoint": .string(server.origin), "bucket": "media", "key": .string(key)],
                    "to": .string("\(directory.path)/got"),
                ])
                var command = Command(
                    id: CommandID(), type: "download", destination: payload.destination, createdAt: .now)
                (command.status, command.idempotent, command.claim) = (.sent, true, 1)
                let execution = CommandExecution(
                    command: command, payload: payload.payload?.bytes ?? [], meter: TransferMeter())
                return try JSONValue(parsing: try await download.execute(execution) ?? [])
            }
            let result = try await get("in/b.mp4")
            #expect(contents(of: "\(directory.path)/got") == bytes, "\(result)")
            let failure = await #expect(throws: CommandFailure.self) { _ = try await get("absent") }
            #expect(failure?.fault == .final && failure?.reason.contains("NoSuchKey") == true, "\(failure as Any)")
        }
    }

    @Test(.enabled(if: isAvailable(MotoServer.isInstalled), "no Python has moto"))
    func `moto refuses a wrong secret, and the command waits for its correction`() async throws {
        try await Self.with(secret: "hush-hush-hush-hush") { server, operation, directory in
            let file = try directory.file("source", [1])
            let failure = try await #require(throws: CommandFailure.self) {
                _ = try await execute(operation, at: server, file, [.init("key", "a")])
            }
            #expect(failure.fault == .credential, "\(failure)")
            #expect(failure.reason.contains("SignatureDoesNotMatch"), "\(failure)")
        }
    }
}
