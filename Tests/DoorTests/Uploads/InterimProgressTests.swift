import Commands
import Logging
import Store
import TestSupport
import Testing
import UploadSpool
import Uploads

@testable import Door

/// The offsets that a door states while a long body runs, on real sockets and a real spool.
@Suite(.enabled(if: runsSlowTests))
struct InterimProgressTests {
    private static let size = 40_000_000

    private static func engine(_ store: MemoryStore, _ directory: TemporaryDirectory) -> UploadEngine {
        UploadEngine(
            store: store, spool: SpoolDirectory(path: "\(directory.path)/spool"), logger: Logger(label: "test"),
            hint: { _ in })
    }

    /// Calls `body` with a client that has sent the head of a creation, and with the URL of a 104 where one came.
    private static func with(
        _ fields: String, sendsInterimResponses: Bool = true,
        _ body: (RawClient, MemoryStore, _ restart: () -> UploadEngine) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory("progress")
        defer { directory.remove() }
        let store = MemoryStore(shardCount: 2)
        let engine = engine(store, directory)
        _ = try await engine.recover()
        var options = UploadsOptions()
        options.sendsInterimResponses = sendsInterimResponses
        var setup = TestDoor.configured(UploadsResource(engine, routes: [], options: options).endpoints) { _ in }
        setup.authenticate = { _ in Principal(token: "studio", name: "Studio", scopes: [.upload]) }
        try await setup.run { door in
            let client = try await door.connect()
            try await client.send(
                "POST /uploads HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(size)\r\n\(fields)\r\n")
            try await body(client, store) { Self.engine(store, directory) }
            await client.close()
        }
    }

    /// Sends bytes until a response comes.
    private static func nextResponse(_ client: RawClient) async throws -> RawResponse {
        let part = [UInt8](repeating: 7, count: 1000)
        return try await awaited("an interim response") {
            if client.text.contains("\r\n\r\n") { return try await client.response() }
            try await client.send(part)
            return nil
        }
    }

    @Test(arguments: [5, 9])
    func `a client that names a version is told offsets that are durable`(version: Int) async throws {
        let complete = "Upload-Complete: ?1\r\nUpload-Draft-Interop-Version: \(version)\r\n"
        try await Self.with(complete) { client, store, restart in
            let first = try await client.response()
            let id = try #require(first["location"].flatMap { CommandID(String($0.suffix(36))) })
            #expect(first.status == 104 && first["upload-offset"] == nil)
            let began = ContinuousClock.now
            var last: Int64 = 0
            for _ in 0..<2 {
                let progress = try await Self.nextResponse(client)
                let offset = try #require(progress["upload-offset"].flatMap { Int64($0) })
                #expect(progress.status == 104 && progress["location"] == nil && offset > last)
                #expect(progress["upload-draft-interop-version"] == "\(version)")
                last = offset
                #expect(try #require(try store.upload(id)).offset >= offset)
            }
            #expect(ContinuousClock.now - began >= .seconds(3), "after one second, and two more")
            let next = restart()
            #expect(try await next.recover().lost.isEmpty)
            #expect(try await next.peek(id).offset >= last)
        }
    }

    @Test(arguments: [
        ("Upload-Complete: ?1\r\n", true), ("Upload-Incomplete: ?0\r\nUpload-Draft-Interop-Version: 3\r\n", true),
        ("Upload-Complete: ?1\r\nUpload-Draft-Interop-Version: 8\r\n", false), ("", true),
    ])
    func `a client that may not expect 104 is told no offset`(fields: String, sends: Bool) async throws {
        try await Self.with(fields, sendsInterimResponses: sends) { client, store, _ in
            if fields.contains("Upload-Incomplete") { #expect(try await client.response()["location"] != nil) }
            let part = [UInt8](repeating: 7, count: 1000)
            var offsets: Set<Int64> = []
            // Checkpoints are a second apart, and others are told at the first.
            try await until("two checkpoints") {
                try await client.send(part)
                for shard in 0..<2 {
                    let open = try store.uploads(
                        shard: shard, state: .open, order: .oldestFirst, after: nil, limit: 1)
                    offsets.formUnion(open.map(\.offset).filter { $0 > 0 })
                }
                return offsets.count == 2
            }
            #expect(client.text.isEmpty)
        }
    }
}
