import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// `sluice get`, from the command line to the file.
    struct DownloadTests {
        private static let size = 24 << 20
        private static let limited = """
            location /slow/ {
                alias ROOT/;
                limit_rate 4m;
            }
            """

        /// Runs a test with nginx and a file of random bytes in it.
        private func withNginx(
            _ body: (Installation, NginxServer, _ bytes: [UInt8]) async throws -> Void
        ) async throws {
            try await Installation.with { installation in
                let root = "\(installation.directory.path)/nginx/dav"
                let server = try await NginxServer(
                    in: installation.directory.path,
                    locations: Self.limited.replacing("ROOT", with: root))
                do {
                    var random = SeededRandom(seed: 11)
                    let block = (0..<1 << 13).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
                    // The blocks differ, so that none can stand for another.
                    let bytes = (0..<Self.size / block.count).flatMap { [UInt8($0 % 251)] + block.dropFirst() }
                    try Data(bytes).write(to: URL(fileURLWithPath: "\(root)/a.bin"))
                    // A file of the last second has a weak date.
                    try FileManager.default.setAttributes(
                        [.modificationDate: Date(timeIntervalSince1970: 1_700_000_000)],
                        ofItemAtPath: "\(root)/a.bin")
                    mkdir("\(installation.directory.path)/in", 0o700)
                    try await body(installation, server, bytes)
                } catch {
                    await server.stop()
                    throw error
                }
                await server.stop()
            }
        }

        @Test func `a name of the server that exists is bad data`() async throws {
            try await Installation.with { installation in
                let source = try installation.directory.file("a.bin", [1, 2, 3])
                let directory = "\(installation.directory.path)/in"
                mkdir(directory, 0o700)
                try Data([9]).write(to: URL(fileURLWithPath: "\(directory)/a.bin"))
                _ = try await installation.up(workers: 1)
                let (url, target) = ("file://\(source)", "\(directory)/")
                let refused = try await installation.sluice("get", url, "--to", target, "--name", "server", "--wait")
                #expect(refused.code == 65, "\(refused.errors)")
                #expect(contents(of: "\(directory)/a.bin") == [9])
                let renamed = try await installation.sluice(
                    "get", url, "--to", target, "--name", "server", "--rename", "--wait")
                #expect(renamed.code == 0, "\(renamed.errors)")
                #expect(contents(of: "\(directory)/a.1.bin") == [1, 2, 3])
            }
        }

        @Test func `a file URL is downloaded like another one`() async throws {
            try await Installation.with { installation in
                let source = try installation.directory.file("a b.bin", [1, 2, 3])
                mkdir("\(installation.directory.path)/in", 0o700)
                _ = try await installation.up(workers: 1)
                let url = "file://" + source.replacing(" ", with: "%20")
                let get = try await installation.sluice(
                    "get", url, "--to", "\(installation.directory.path)/in/", "--checksum",
                    "sha256:\(sha256([1, 2, 3]))", "--wait")
                #expect(get.code == 0, "\(get.errors)")
                #expect(contents(of: "\(installation.directory.path)/in/a b.bin") == [1, 2, 3])
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow")) func `monitors see how far the checksum of a download is`()
            async throws
        {
            try await Installation.with { installation in
                let source = try installation.directory.file("hollow", [])
                #expect(truncate(source, 300 << 20) == 0)
                mkdir("\(installation.directory.path)/in", 0o700)
                _ = try await installation.up(workers: 1)
                let watch = try installation.start("watch", "--json")
                try await until("the first events") { watch.output.contains("counts") }
                let get = try await installation.sluice(
                    "get", "file://\(source)", "--to", "\(installation.directory.path)/in/", "--checksum",
                    "md5:\(String(repeating: "0", count: 32))", "--retry-limit", "0", "--wait")
                #expect(get.code == 1 && get.errors.contains("another md5"), "\(get.errors)")
                try await until("a phase") { watch.output.contains(#""phase":"verifying""#) }
                #expect(
                    try FileManager.default.contentsOfDirectory(atPath: "\(installation.directory.path)/in").isEmpty)
            }
        }

        @Test(.enabled(if: isAvailable(NginxServer.isInstalled) && runsSlowTests, "needs nginx, and takes 6 s"))
        func `the part of a download that is cancelled while it waits is deleted`() async throws {
            try await withNginx { installation, server, _ in
                let services = [
                    try await installation.coordinator(), try await installation.worker("--grace", "500ms"),
                ]
                let directory = "\(installation.directory.path)/in/"
                let get = try await installation.sluice("get", "\(server.origin)/slow/a.bin", "--to", directory)
                let id = try #require(get.ids.first, "\(get.errors)")
                let part = "\(directory).a.bin.\(id).1.part"
                try await until("a part") { access(part, F_OK) == 0 }
                try await until("4 MiB of the file") {
                    var status = stat()
                    return stat(part, &status) == 0 && status.st_size > 4 << 20
                }
                services[1].signal(SIGTERM)
                _ = try await services[1].end(within: .seconds(30))
                let store = try installation.store()
                _ = try await installation.await(id, .new, in: store)
                #expect(try await installation.sluice("cancel", "\(id)").code == 0)
                #expect(access(part, F_OK) == 0)
                _ = try await installation.worker()
                try await until("the deletion", within: .seconds(20)) { access(part, F_OK) != 0 }
                #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
            }
        }

        @Test(.enabled(if: isAvailable(NginxServer.isInstalled), "needs nginx"))
        func `a download is continued by another worker after the death of every process`() async throws {
            try await withNginx { installation, server, bytes in
                let services = [try await installation.coordinator(), try await installation.worker()]
                let directory = "\(installation.directory.path)/in/"
                let get = try await installation.sluice("get", "\(server.origin)/slow/a.bin", "--to", directory)
                let id = try #require(get.ids.first, "\(get.errors)")
                let store = try installation.store()
                let part = "\(directory).a.bin.\(id).1.part"
                try await until("4 MiB of the file") {
                    var status = stat()
                    return stat(part, &status) == 0 && status.st_size > 4 << 20
                }
                for service in services { service.signal(SIGKILL) }
                for service in services { _ = await service.end }
                #expect(contents(of: directory + "a.bin") == nil)

                _ = try await installation.coordinator()
                _ = try await installation.worker()
                let command = try await installation.await(id, .success, in: store)
                #expect(command.claim == 2 && command.retries == 0 && command.total == Int64(Self.size))
                #expect(contents(of: directory + "a.bin") == bytes)
                let result = try JSONValue(parsing: try #require(try store.result(id)))
                #expect(result["resumed"]?.integer == 1 && result["restarted"]?.integer == 0, "\(result.text)")
                #expect(result["wasted"]?.integer ?? .max <= 256 << 10, "\(result.text)")
                let names = try FileManager.default.contentsOfDirectory(atPath: directory)
                #expect(names == ["a.bin"])
            }
        }

        @Test func `a file is there when get --wait returns`() async throws {
            let server = try await ScriptedServer()
            try await stopping(server) {
                try server.run(
                    """
                    GET /missing : answer 404
                    GET /a* : answer 200 header "ETag: \\"1\\"" body "abc"
                    """)
                try await Installation.with { installation in
                    _ = try await installation.up()
                    let directory = "\(installation.directory.path)/"
                    let done = try await installation.sluice(
                        "get", "\(server.origin)/a1?key=hush", "\(server.origin)/a2", "--to", directory, "--wait")
                    #expect(done.code == 0 && done.ids.count == 2, "\(done.errors)")
                    #expect(contents(of: directory + "a1") == Array("abc".utf8))
                    #expect(contents(of: directory + "a2") == Array("abc".utf8))
                    let shown = try await installation.sluice("status", "\(done.ids[0])", "--json").output
                    #expect(shown.contains("a1") && !shown.contains("hush"), "\(shown)")
                    let missing = try await installation.sluice(
                        "get", "\(server.origin)/missing", "--to", directory, "--wait")
                    #expect(missing.code == 1 && missing.errors.contains("answered 404"), "\(missing.errors)")
                    #expect(contents(of: directory + "missing") == nil)
                }
            }
        }

        @Test(arguments: [
            (["ftp://a/b"], 64, "use http, https or file"), (["http://a/b", "http://a/c", "--to", "x"], 64, "slash"),
            (["http://a/b", "http://c/b", "--to", "/tmp/"], 64, "would both become /tmp/b"),
            (["http://a/b", "--checksum", "sha256:12"], 65, "hexadecimal digits"),
            (["http://a/b", "--header", "Range: bytes=1-"], 65, "cannot be set"),
            (["http://a/b", "--to", ".."], 65, "does not name a file"), (["host/path"], 64, "host/path"),
        ])
        func `invalid arguments are refused before anything is submitted`(
            _ arguments: [String], _ code: Int32, _ words: String
        ) async throws {
            try await Installation.with { installation in
                let refused = try await installation.run(program: "\(Installation.bin)/sluice", ["get"] + arguments)
                #expect(refused.code == code && refused.errors.contains(words), "\(refused.errors)")
                #expect(refused.output.isEmpty)
            }
        }
    }
}
