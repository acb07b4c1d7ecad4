import Commands
import Foundation
import Glibc
import HTTPClient
import TestSupport
import Testing

@testable import Fetch
@testable import FileOps
@testable import Sync
@testable import Transfers

/// Answers with a `Content-Encoding`, to the operations whose purpose is the answer.
@Suite struct ContentCodingTests {
    enum Kind: String, CaseIterable {
        case sync, fetch, request, saved

        func outcome(
            _ server: ScriptedServer, _ directory: TemporaryDirectory, _ members: String = ""
        ) async throws -> OperationOutcome {
            var text = "\"url\":\"\(server.origin)/list\"" + (members.isEmpty ? "" : ",\(members)")
            switch self {
            case .sync: text += ",\"collection\":\"things\""
            case .saved: text += ",\"saveTo\":\"\(directory.path)/saved\""
            case .fetch, .request: break
            }
            let payload = try JSONValue(parsing: Array("{\(text)}".utf8))
            let (transport, credentials) = (HTTPTransport(configuration: .init()), CredentialStore())
            let evidence = DestinationEvidence()
            switch self {
            case .sync:
                let operation = SyncOperation(
                    transport: transport, credentials: credentials, evidence: evidence,
                    collections: CollectionDirectory(data: directory.path))
                return try await OperationOutcome.of(payload, by: operation)
            case .fetch:
                let store = ResponseStoreAccess(directory: "\(directory.path)/cache", maxBytes: 1 << 30)
                let operation = FetchOperation(
                    transport: transport, credentials: credentials, evidence: evidence, store: store)
                return try await OperationOutcome.of(payload, by: operation)
            case .request, .saved:
                let operation = RequestOperation(transport: transport, credentials: credentials, evidence: evidence)
                return try await OperationOutcome.of(payload, by: operation)
            }
        }
    }

    private static let list = "[" + (0..<500).map { "{\"id\":\($0)}" }.joined(separator: ",") + "]"
    private static let encoded = Encoded.gzip(Array(list.utf8))

    private static func with(
        headers: [String: String] = ["Content-Encoding": "gzip"], status: Int = 200, _ bytes: [UInt8],
        isEndMarked: Bool = true, _ body: (ScriptedServer, TemporaryDirectory) async throws -> Void
    ) async throws {
        let server = try await ScriptedServer()
        try await stopping(server) {
            let headers = headers.merging(["Content-Type": "application/json"]) { first, _ in first }
            server.handle(
                by: ListOrigin { _ in .answer(status, headers: headers, bytes: bytes, isEndMarked: isEndMarked) })
            let directory = try TemporaryDirectory("coding")
            defer { directory.remove() }
            _ = try directory.makeDirectory("run")
            try await body(server, directory)
        }
    }

    @Test(arguments: Kind.allCases, ["gzip", "x-gzip", "deflate"])
    func `a coding is taken off, and named in the result`(_ kind: Kind, _ coding: String) async throws {
        let bytes = coding == "deflate" ? Encoded.deflate(Array(Self.list.utf8)) : Self.encoded
        try await Self.with(headers: ["Content-Encoding": coding], bytes) { server, directory in
            let result = try await kind.outcome(server, directory).result
            #expect(result?["decoded"]?.string == coding, "\(String(describing: result))")
            switch kind {
            case .sync: #expect(result?["inserted"]?.integer == 500)
            case .fetch, .request: #expect(result?["body"]?.string == Self.list && result?["json"] != nil)
            case .saved:
                #expect(result?["saved"]?["bytes"]?.integer == Int64(Self.list.utf8.count))
                #expect(contents(of: "\(directory.path)/saved") == Array(Self.list.utf8))
            }
        }
    }

    @Test(arguments: Kind.allCases, [true, false])
    func `a stream that was cut before it was sent is a failure`(_ kind: Kind, _ isEndMarked: Bool) async throws {
        for bytes in [Array(Self.encoded.dropLast(1)), Array(Self.encoded.prefix(60))] {
            try await Self.with(bytes, isEndMarked: isEndMarked) { server, directory in
                let outcome = try await kind.outcome(server, directory)
                #expect(outcome.failure?.fault == .command, "\(outcome)")
                #expect(outcome.failure?.reason.contains("ends within its gzip stream") == true, "\(outcome)")
                #expect(access("\(directory.path)/saved", F_OK) != 0)
            }
        }
    }

    @Test(arguments: Kind.allCases) func `a coding that is not known is a final failure with its name`(
        _ kind: Kind
    ) async throws {
        try await Self.with(headers: ["Content-Encoding": "br"], Array("[]".utf8)) { server, directory in
            let outcome = try await kind.outcome(server, directory)
            #expect(outcome.failure?.fault == .final && outcome.failure?.reason.contains("br") == true, "\(outcome)")
        }
    }

    @Test(arguments: [(Kind.sync, "maxBytes"), (.fetch, "maxBody"), (.saved, "maxBody")])
    func `a limit is one of the decoded bytes`(_ kind: Kind, _ limit: String) async throws {
        // A body that is short as it comes, but not decoded.
        try await Self.with(Self.encoded) { server, directory in
            let size = Self.list.utf8.count
            #expect(Self.encoded.count < size / 2)
            let short = try await kind.outcome(server, directory, "\"\(limit)\":\(size - 1)")
            #expect(short.failure?.fault == .final && short.failure?.reason.contains(limit) == true, "\(short)")
            let enough = try await kind.outcome(server, directory, "\"\(limit)\":\(size)")
            #expect(enough.failure == nil, "\(enough)")
        }
    }

    @Test func `a long answer is decoded no further than it is kept`() async throws {
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: 8 << 20)
        try await Self.with(headers: ["Content-Encoding": "gzip", "Content-Type": "text/plain"], Encoded.gzip(long)) {
            server, directory in
            let result = try await Kind.request.outcome(server, directory).result
            #expect(result?["bodyTruncated"]?.bool == true && result?["decoded"]?.string == "gzip")
            #expect(result?["body"]?.string?.utf8.count == HTTPTransfer.bodyLimit)
        }
    }

    @Test func `a raw request, and a part, keep the body as it came`() async throws {
        try await Self.with(Self.encoded) { server, directory in
            let raw = try await Kind.request.outcome(server, directory, "\"raw\":true").result
            #expect(raw?["decoded"] == nil && raw?["bodyEncoding"]?.string == "base64", "\(String(describing: raw))")
            #expect(raw?["headers"]?["content-encoding"]?.string == "gzip")
            let saved = try await Kind.saved.outcome(server, directory, "\"raw\":true").result
            #expect(saved?["saved"]?["bytes"]?.integer == Int64(Self.encoded.count))
            #expect(contents(of: "\(directory.path)/saved") == Self.encoded)
        }
        try await Self.with(status: 206, Array(Self.encoded.dropFirst(20))) { server, directory in
            let part = try await Kind.request.outcome(server, directory).result
            #expect(part?["decoded"] == nil && part?["bodyEncoding"]?.string == "base64", "\(String(describing: part))")
        }
    }

    @Test func `a POST whose answer cannot be decoded is in doubt`() async throws {
        try await Self.with(Array(Self.encoded.prefix(60))) { server, directory in
            let outcome = try await Kind.request.outcome(server, directory, "\"method\":\"POST\",\"body\":\"x\"")
            #expect(outcome.failure?.ambiguous == true, "\(outcome)")
        }
    }

    @Test func `an error keeps its status where its body cannot be decoded`() async throws {
        try await Self.with(headers: ["Content-Encoding": "br"], status: 404, [1, 2, 3]) { server, directory in
            for kind in Kind.allCases {
                let outcome = try await kind.outcome(server, directory)
                #expect(outcome.failure?.reason.contains("404") == true, "\(outcome)")
            }
        }
    }

    @Test func `a decoded response is the stored one too`() async throws {
        let headers = ["Content-Encoding": "gzip", "Cache-Control": "max-age=60", "ETag": "\"1\""]
        try await Self.with(headers: headers, Self.encoded) { server, directory in
            _ = try await Kind.fetch.outcome(server, directory)
            let stored = try await Kind.fetch.outcome(server, directory).result
            #expect(stored?["source"]?.string == "stored" && stored?["body"]?.string == Self.list)
            #expect(stored?["decoded"] == nil && stored?["headers"]?["content-encoding"] == nil)
            #expect(server.requests.count == 1)
        }
    }
}
