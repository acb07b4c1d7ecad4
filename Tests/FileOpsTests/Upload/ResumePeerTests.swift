import Commands
import FileOps
import Foundation
import Operations
import TestSupport
import Testing

/// Interrupted uploads to tuspyserver, Apache httpd and nginx.
@Suite struct ResumePeerTests {
    private static let size = 40_000_000

    /// Runs the first execution of an upload until half of the file was sent, and stops it.
    private func cut(_ upload: RepeatedUpload) async throws {
        let (execution, meter) = upload.next()
        // The file takes a second, and each quarter of a second is measured.
        execution.pace.set(Int64(Self.size))
        let task = Task { try await upload.harness.run(execution) }
        try await until("half of the file") { meter.reading.bytes >= Self.size / 2 }
        meter.release()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(meter.reading.isResumable)
    }

    /// - Returns: the result, and the number of sent bytes.
    private func finish(_ upload: RepeatedUpload) async throws -> (JSONValue, Int) {
        let (execution, meter) = upload.next()
        let result = try await upload.harness.run(execution)
        #expect(meter.reading.offset == Int64(Self.size))
        return (result, Int(meter.reading.bytes))
    }

    /// Runs a test with Apache httpd and a harness that uses Content-Range there, and removes both
    /// afterwards.
    private func withApache(_ body: (ApacheServer, UploadHarness) async throws -> Void) async throws {
        let directory = try TemporaryDirectory("apache")
        defer { directory.remove() }
        let server = try await ApacheServer(in: directory.path)
        try await stopping(server) {
            let harness = try UploadHarness(
                resumes: ResumeRules(
                    contentRange: [Destination(scheme: "http", host: "127.0.0.1", port: server.port)]))
            defer { harness.directory.remove() }
            try await body(server, harness)
        }
    }

    @Test(
        .enabled(
            if: isAvailable(TusServer.isInstalled), "tuspyserver is not installed; deploy/prepare test installs it"),
        arguments: ["tus", nil])
    func `tuspyserver takes the rest of a file`(_ name: String?) async throws {
        let harness = try UploadHarness()
        defer { harness.directory.remove() }
        let server = try await TusServer(in: harness.directory.path)
        try await stopping(server) {
            let bytes = sample(Self.size)
            let file = try harness.directory.file("a ü.bin", bytes)
            let upload = try RepeatedUpload(harness, file: file, to: server.endpoint, name)
            try await cut(upload)
            try await until("the server to see the cut") { !server.isWriting }
            let (result, sent) = try await finish(upload)
            let location = try #require(result["headers"]?["location"]?.string)
            #expect(server.contents(of: location) == bytes)
            // Half of the file was acknowledged. The server's program had not read all of it.
            #expect(sent <= Self.size * 3 / 4)
            // Without the upload at the server, the command creates a new one.
            server.remove(location)
            let (again, all) = try await finish(upload)
            let other = try #require(again["headers"]?["location"]?.string)
            #expect(other != location && all == Self.size)
            #expect(server.contents(of: other) == bytes)
            let empty = try harness.directory.file("empty", [])
            _ = try await RepeatedUpload(harness, file: empty, to: server.endpoint, "tus").run()
        }
    }

    @Test(
        .enabled(
            if: isAvailable(ApacheServer.isInstalled), "apache2 is not installed; deploy/prepare test installs it"),
        arguments: ["contentRange", nil])
    func `Apache takes the rest of a file, and no tail of a longer file remains`(_ name: String?) async throws {
        try await withApache { server, harness in
            let longer = try harness.directory.file("longer", sample(Self.size + 1000))
            _ = try await harness.upload(file: longer, to: "\(server.origin)/x")
            let bytes = sample(Self.size)
            let file = try harness.directory.file("a", bytes)
            let upload = try RepeatedUpload(harness, file: file, to: "\(server.origin)/x", name)
            try await cut(upload)
            let (_, sent) = try await finish(upload)
            // Half of the file was acknowledged. The server's program had not read all of it.
            #expect(sent <= Self.size * 3 / 4)
            #expect(contents(of: "\(server.root)/x") == bytes)
        }
    }

    @Test(
        .enabled(
            if: isAvailable(ApacheServer.isInstalled), "apache2 is not installed; deploy/prepare test installs it"))
    func `Apache has no bytes of another file that was stored while an upload was interrupted`() async throws {
        try await withApache { server, harness in
            let bytes = sample(Self.size)
            let upload = try RepeatedUpload(
                harness, file: try harness.directory.file("a", bytes), to: "\(server.origin)/x", "contentRange")
            try await cut(upload)
            let other = try harness.directory.file("other", sample(Self.size / 4))
            _ = try await harness.upload(file: other, to: "\(server.origin)/x")
            let (_, sent) = try await finish(upload)
            #expect(sent == Self.size)
            #expect(contents(of: "\(server.root)/x") == bytes)
        }
    }

    @Test(.enabled(if: isAvailable(NginxServer.isInstalled), "nginx is not installed; deploy/prepare test installs it"))
    func `nginx does not support Content-Range and gets the whole file`() async throws {
        let harness = try UploadHarness()
        defer { harness.directory.remove() }
        let server = try await NginxServer(in: harness.directory.path)
        try await stopping(server) {
            let bytes = sample(5_000_000)
            let file = try harness.directory.file("a", bytes)
            for name in ["contentRange", nil] {
                let upload = try RepeatedUpload(harness, file: file, to: "\(server.origin)/dav/\(name ?? "any")/", name)
                #expect(try await upload.run()["status"]?.integer == 201)
                #expect(contents(of: "\(server.root)/\(name ?? "any")/a") == bytes)
            }
        }
    }

    @Test(
        .enabled(
            if: isAvailable(TusServer.isInstalled && NginxServer.isInstalled),
            "tuspyserver or nginx is not installed; deploy/prepare test installs them"))
    func `a tus server behind an nginx that takes 1 MiB gets the file in chunks`() async throws {
        let harness = try UploadHarness()
        defer { harness.directory.remove() }
        let server = try await TusServer(in: harness.directory.path)
        let proxy: NginxServer
        do {
            proxy = try await NginxServer(
                in: harness.directory.path,
                locations: """
                    location /files {
                        client_max_body_size 1m;
                        proxy_set_header Host $http_host;
                        proxy_pass http://127.0.0.1:\(server.port);
                    }
                    """)
        } catch {
            await server.stop()
            throw error
        }
        try await stopping(proxy, server) {
            let bytes = sample(5_000_000)
            let file = try harness.directory.file("a", bytes)
            let upload = try RepeatedUpload(
                harness, file: file, to: "\(proxy.origin)/files/", "tus", extra: [.init("removeSource", true)])
            let result = try await upload.run()
            let location = try #require(result["headers"]?["location"]?.string)
            #expect(server.contents(of: location) == bytes)
            #expect(result["sourceRemoved"]?.bool == true)
            #expect(access(file, F_OK) != 0)
        }
    }
}
