import Commands
import HTTPTypes
import Logging
import Store
import Synchronization
import TestSupport
import Testing
import UploadSpool
import Uploads

@testable import Door

/// A right that is lost while a body arrives ends the request.
struct RightsWatchTests {
    private static let size = 8_000_000

    private static func with(
        _ permits: Shared<Bool>, _ body: (RawClient, UploadEngine, MemoryStore) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory("rights")
        defer { directory.remove() }
        let store = MemoryStore(shardCount: 2)
        var limits = UploadLimits()
        limits.minFree = 0
        let engine = UploadEngine(
            store: store, spool: SpoolDirectory(path: try directory.makeDirectory("spool")), limits: limits,
            logger: Logger(label: "test"), hint: { _ in })
        var setup = TestDoor.configured(UploadsResource(engine, routes: []).endpoints) { _ in }
        setup.authenticate = { _ in Principal(token: "studio", name: "Studio", scopes: [.upload, .read]) }
        setup.stillPermits = { principal, scopes, _ in
            #expect(principal.token == "studio" && scopes == [.upload])
            return permits.value
        }
        try await setup.run { door in
            let client = try await door.connect()
            try await client.send(
                """
                POST /uploads HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(size)\r\nTus-Resumable: 1.0.0\r
                Upload-Length: \(size)\r\nContent-Type: application/offset+octet-stream\r\n\r\n
                """)
            try await client.send([UInt8](repeating: 7, count: 200_000))
            try await body(client, engine, store)
            await client.close()
        }
    }

    private static func upload(_ store: MemoryStore) throws -> Upload? {
        for shard in 0..<2 {
            let found = try store.uploads(shard: shard, state: nil, order: .oldestFirst, after: nil, limit: 1)
            if let first = found.first { return first }
        }
        return nil
    }

    @Test func `a token that is revoked while a body runs cuts it, and the bytes stay`() async throws {
        let permits = Shared(true)
        try await Self.with(permits) { client, engine, store in
            let id = try await awaited("the upload") { try Self.upload(store)?.id }
            permits.change { $0 = false }
            let response = try await client.response()
            #expect(response.status == 401 && response.body.contains("revoked"), "\(response)")
            let upload = try await engine.upload(id)
            #expect(upload.state == .open && upload.offset > 0 && upload.offset <= 200_000)
        }
    }

    @Test func `a token that keeps its right sends its body to the end`() async throws {
        try await Self.with(Shared(true)) { client, _, store in
            try await client.send([UInt8](repeating: 7, count: Self.size - 200_000))
            #expect(try await client.response().status == 201)
            #expect(try Self.upload(store)?.state == .complete)
        }
    }
}
