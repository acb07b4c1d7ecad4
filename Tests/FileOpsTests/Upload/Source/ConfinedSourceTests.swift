import Commands
import Foundation
import Operations
import TestSupport
import Testing

@testable import FileOps
@testable import Transfers

/// Attacks on the source of an upload that came over HTTP, after its submit.
struct ConfinedSourceTests {
    /// A directory that is listed, with `media/a.bin`, beside one with a secret of the same name.
    private static func with(
        _ body: (_ harness: UploadHarness, _ server: ScriptedServer, _ open: String, _ closed: String) async throws ->
            Void
    ) async throws {
        let server = try await ScriptedServer()
        try await stopping(server) {
            let directory = try TemporaryDirectory("confined")
            defer { directory.remove() }
            let open = try directory.makeDirectory("open")
            _ = try directory.makeDirectory("open/media")
            _ = try directory.file("open/media/a.bin", [1, 2, 3])
            let closed = try directory.makeDirectory("closed")
            _ = try directory.file("closed/a.bin", [9, 9, 9])
            var configuration = HTTPConfiguration()
            configuration.confinement.destinations = [try #require(Destination(server.origin))]
            configuration.confinement.sources = [open]
            try await body(
                try UploadHarness(configuration: configuration, directory: directory), server, open, closed)
        }
    }

    private static let confined = [JSONValue.Member("confined", true)]

    @Test func `a source beneath a listed directory is sent`() async throws {
        try await Self.with { harness, server, open, _ in
            let result = try await harness.upload(
                file: "\(open)/media/a.bin", to: "\(server.origin)/a", extra: Self.confined)
            #expect(result["status"] != nil, "\(result)")
            #expect(server.holds("/a", [1, 2, 3]))
        }
    }

    @Test func `a listed directory may be reached through a link`() async throws {
        try await Self.with { harness, server, open, _ in
            var configuration = HTTPConfiguration()
            configuration.confinement.destinations = [try #require(Destination(server.origin))]
            configuration.confinement.sources = ["\(harness.directory.path)/link/"]
            try FileManager.default.createSymbolicLink(
                atPath: "\(harness.directory.path)/link", withDestinationPath: open)
            let other = try UploadHarness(configuration: configuration, directory: harness.directory)
            _ = try await other.upload(file: "\(open)/media/a.bin", to: "\(server.origin)/a", extra: Self.confined)
            #expect(server.holds("/a", [1, 2, 3]))
        }
    }

    @Test func `a directory that becomes a link after the submit leads nowhere`() async throws {
        try await Self.with { harness, server, open, closed in
            let execution = try harness.execution(
                file: "\(open)/media/a.bin", to: "\(server.origin)/a", extra: Self.confined
            ).execution
            try FileManager.default.moveItem(atPath: "\(open)/media", toPath: "\(open)/moved")
            try FileManager.default.createSymbolicLink(atPath: "\(open)/media", withDestinationPath: closed)
            let failure = try await harness.failure(of: execution)
            #expect(failure.fault == .final && failure.reason.contains("symbolic link"), "\(failure.reason)")
            #expect(server.connections == 0)
        }
    }

    @Test func `a file that becomes a link after the submit is not read`() async throws {
        try await Self.with { harness, server, open, closed in
            let file = "\(open)/media/a.bin"
            let execution = try harness.execution(
                file: file, to: "\(server.origin)/a", extra: Self.confined
            ).execution
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "\(closed)/a.bin")
            let failure = try await harness.failure(of: execution)
            #expect(failure.fault == .final && failure.reason.contains("symbolic link"), "\(failure.reason)")
            #expect(server.connections == 0)
        }
    }

    @Test(arguments: ["closed/a.bin", "open/../closed/a.bin", "open-not/a.bin"])
    func `a file beside the listed directories is not read`(_ path: String) async throws {
        try await Self.with { harness, server, _, _ in
            _ = try harness.directory.makeDirectory("open-not")
            _ = try harness.directory.file("open-not/a.bin", [9])
            let failure = try await harness.failure(
                file: "\(harness.directory.path)/\(path)", to: "\(server.origin)/a", extra: Self.confined)
            #expect(failure.fault == .final, "\(failure.reason)")
            #expect(server.connections == 0)
        }
    }

    @Test func `the body of a confined request is opened in the same way`() async throws {
        try await Self.with { harness, server, open, closed in
            var configuration = HTTPConfiguration()
            configuration.confinement.destinations = [try #require(Destination(server.origin))]
            configuration.confinement.sources = [open]
            let requests = RequestHarness(server, credentials: [:], directory: harness.directory).using(configuration)
            func payload(_ file: String) -> JSONValue {
                ["url": requests.url("/a"), "method": "POST", "bodyFile": .string(file), "confined": true]
            }
            server.on("/a", .answer(200))
            let sent = try await requests.outcome(payload("\(open)/media/a.bin"))
            #expect(sent.result?["status"] == 200, "\(sent)")
            let refused = try await requests.outcome(payload("\(closed)/a.bin"))
            #expect(refused.failure?.reason.contains("door.submit.sources") == true, "\(refused)")
            #expect(server.requests.count == 1)
        }
    }

    @Test func `a confined upload has no file as its destination`() throws {
        #expect(throws: PayloadError.self) {
            try UploadPayload(["file": "/a", "to": "file:///b", "confined": true])
        }
    }
}
