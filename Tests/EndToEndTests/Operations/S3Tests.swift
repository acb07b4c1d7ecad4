import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// `sluice s3 put`, from the command line to the object.
    struct S3Tests {
        private func with(
            _ body: (Installation, S3Server, _ origin: String, _ configuration: String) async throws -> Void
        ) async throws {
            let (store, server) = (S3Server(), try await ScriptedServer())
            try await stopping(server) {
                server.handle(by: store)
                try await Installation.with { installation in
                    let secret = try installation.directory.file("secret", Array(S3Server.secretKey.utf8))
                    chmod(secret, 0o600)
                    let yaml = """
                        credentials: [store]
                        credential:
                          store:
                            origin: \(server.origin)
                            s3AccessKey: \(S3Server.accessKey)
                            s3SecretFile: \(secret)
                        """
                    let configuration = try installation.directory.file("sluice.yaml", Array(yaml.utf8))
                    try await body(installation, store, server.origin, configuration)
                }
            }
        }

        private func file(_ installation: Installation, _ name: String, _ size: Int) throws -> (String, [UInt8]) {
            var bytes = [UInt8](repeating: 7, count: size)
            for index in stride(from: 0, to: size, by: 1024) { bytes[index] = UInt8(truncatingIfNeeded: index >> 10) }
            return (try installation.directory.file(name, bytes), bytes)
        }

        @Test func `files become objects, and the result is read with status`() async throws {
            try await with { installation, store, origin, configuration in
                _ = try await installation.up(workers: 1, "--config", configuration)
                let (small, large) = (try file(installation, "a.txt", 9), try file(installation, "b.mp4", 11 << 20))
                let put = try await installation.sluice(
                    "s3", "put", small.0, large.0, "--to", "s3://media/in/", "--endpoint", origin, "--part-size",
                    "5MiB", "--metadata", "title=a", "--wait", "--json")
                #expect(put.code == 0 && put.lines.count == 2, "\(put.output)\(put.errors)")
                #expect(store.objects["in/a.txt"]?.bytes == small.1 && store.objects["in/b.mp4"]?.bytes == large.1)
                #expect(store.objects["in/b.mp4"]?.headers["x-amz-meta-title"] == "a")
                let id = try #require(try JSONValue(parsing: Array(put.lines[1].utf8))["id"]?.string)
                let shown = try await installation.sluice("status", id, "--json").output
                #expect(shown.contains(#""parts":3"#) || shown.contains(#"\"parts\":3"#), "\(shown)")
            }
        }

        @Test func `a spooled file arrives without its original, and the copy is deleted afterwards`() async throws {
            try await with { installation, store, origin, configuration in
                func copies() throws -> [String] {
                    try FileManager.default.contentsOfDirectory(atPath: "\(installation.data)/spool")
                }
                let (small, large) = (try file(installation, "a.txt", 9), try file(installation, "b.mp4", 11 << 20))
                let put = try await installation.sluice(
                    "s3", "put", small.0, large.0, "--to", "s3://media/in/", "--endpoint", origin, "--part-size",
                    "5MiB", "--spool", "--json")
                #expect(put.code == 0 && put.lines.count == 2, "\(put.output)\(put.errors)")
                #expect(try copies().count == 2)
                for path in [small.0, large.0] { unlink(path) }
                // A key without the right to read: the answer to the upload is trusted.
                store.fail(.head, .refuse(403, "AccessDenied"))
                _ = try await installation.up(workers: 1, "--config", configuration)
                for line in put.lines {
                    let id = try #require(
                        try JSONValue(parsing: Array(line.utf8))["id"]?.string.flatMap { CommandID($0) })
                    _ = try await installation.await(id, .success, in: try installation.store())
                }
                #expect(store.objects["in/a.txt"]?.bytes == small.1 && store.objects["in/b.mp4"]?.bytes == large.1)
                #expect(store.objects["in/a.txt"]?.headers["content-type"]?.hasPrefix("text/plain") == true)
                #expect(try copies().isEmpty)
            }
        }

        @Test(.enabled(if: runsSlowTests, "takes 6 s"))
        func `an upload goes on after every process was killed, and sends no acknowledged part again`() async throws {
            try await with { installation, store, origin, configuration in
                let (path, bytes) = try file(installation, "b.mp4", 16 << 20)
                // Create and two parts; the third part is never answered.
                store.die(at: 4, afterwards: false)
                let up = try await installation.up(workers: 2, "--config", configuration)
                let id = try #require(
                    try await installation.sluice(
                        "s3", "put", path, "--to", "s3://media/b.mp4", "--endpoint", origin, "--part-size", "5MiB"
                    ).ids.first)
                try await until("the third part") { store.isClientDead }
                let workers = try await installation.workers()
                let coordinator = try #require(
                    try await installation.status()?["coordinator"]?["pid"]?.integer.map { Int32($0) })
                for pid in [up.pid, coordinator] + workers { kill(pid, SIGKILL) }
                _ = try await up.end(within: .seconds(10))
                store.revive()
                store.forgetLog()
                _ = try await installation.up(workers: 1, "--config", configuration)
                let command = try await installation.await(id, .success, in: try installation.store())
                #expect(store.objects["b.mp4"]?.bytes == bytes && store.uploads.isEmpty, "\(command)")
                #expect(store.log.count { $0 == .part } == 2 && !store.log.contains(.create), "\(store.log)")
            }
        }

        @Test func `a cancelled upload is aborted at the endpoint`() async throws {
            try await with { installation, store, origin, configuration in
                store.fail(.part, .hang)
                _ = try await installation.up(workers: 1, "--config", configuration)
                let (path, _) = try file(installation, "b.mp4", 11 << 20)
                let id = try #require(
                    try await installation.sluice(
                        "s3", "put", path, "--to", "s3://media/b.mp4", "--endpoint", origin, "--part-size", "5MiB"
                    ).ids.first)
                try await until("the first part") { store.log.contains(.part) }
                #expect(try await installation.sluice("cancel", "\(id)").code == 0)
                _ = try await installation.await(id, .cancelled, in: try installation.store())
                try await until("the abort") { store.uploads.isEmpty }
            }
        }

        @Test(.enabled(if: runsSlowTests, "takes 6 s"), arguments: [false, true])
        func `an upload that is cancelled while it waits is aborted, also where the command is pruned`(
            _ isPruned: Bool
        ) async throws {
            try await with { installation, store, origin, configuration in
                store.fail(.part, .hang)
                let up = try await installation.up(workers: 1, "--config", configuration, "--grace", "1s")
                let (path, _) = try file(installation, "b.mp4", 11 << 20)
                let id = try #require(
                    try await installation.sluice(
                        "s3", "put", path, "--to", "s3://media/b.mp4", "--endpoint", origin, "--part-size", "5MiB"
                    ).ids.first)
                try await until("the first part") { store.log.contains(.part) }
                up.signal(SIGTERM)
                _ = try await up.end(within: .seconds(30))
                #expect(store.uploads.count == 1)
                #expect(try await installation.sluice("cancel", "\(id)").code == 0)
                if isPruned {
                    let prune = try await installation.sluice("prune", "--older-than", "0s")
                    #expect(prune.output == "1 command removed\n", "\(prune.output)\(prune.errors)")
                }
                #expect(store.uploads.count == 1)
                _ = try await installation.up(workers: 1, "--config", configuration)
                try await until("the abort", within: .seconds(20)) { store.uploads.isEmpty }
                let cleanups = try installation.store().list(CommandFilter(), after: nil, limit: 10).filter {
                    $0.type == "cleanup"
                }
                #expect(cleanups.count == 1)
                let cleanup = try #require(cleanups.first?.id)
                // It waits for an hour, and then looks once more for a part that was under way.
                try await until("the second look", within: .seconds(20)) {
                    guard let command = try installation.store().command(cleanup) else { return false }
                    return command.status == .new && command.notBefore > .now + .seconds(3000)
                }
                let why = try await installation.sluice("explain", "\(cleanup)")
                #expect(why.code == 0 && why.output.contains("aborted once more"), "\(why.output)")
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `no output, log or file of the data directory has the secret key`() async throws {
            try await with { installation, store, origin, configuration in
                _ = try await installation.up(workers: 1, "--config", configuration)
                store.fail(.put, .refuse(400, "InvalidArgument"))
                let (path, _) = try file(installation, "a", 9)
                let put = try await installation.sluice(
                    "s3", "put", path, "--to", "s3://media/a", "--endpoint", origin, "--wait")
                #expect(put.code == 1 && put.errors.contains("InvalidArgument"), "\(put.errors)")
                for text in [put.output, put.errors, installation.logs] { #expect(!text.contains(S3Server.secretKey)) }
                for path in try FileManager.default.subpathsOfDirectory(atPath: installation.data) {
                    let bytes = contents(of: "\(installation.data)/\(path)") ?? []
                    #expect(bytes.firstRange(of: Array(S3Server.secretKey.utf8)) == nil, "\(path)")
                }
            }
        }

        @Test func `a folder becomes objects, and each comes back as a file`() async throws {
            try await with { installation, store, origin, configuration in
                _ = try await installation.up(workers: 1, "--config", configuration)
                let folder = try installation.directory.makeDirectory("in")
                _ = try installation.directory.makeDirectory("in/sub")
                let (_, bytes) = try file(installation, "in/sub/b c.mp4", 11 << 20)
                _ = try file(installation, "in/a.txt", 9)
                let put = try await installation.sluice(
                    "s3", "put", folder, "--to", "s3://media", "--endpoint", origin, "--part-size", "5MiB", "--exclude",
                    "*.txt", "--wait")
                #expect(put.code == 0 && put.ids.count == 1, "\(put.errors)")
                #expect(store.objects.keys.sorted() == ["sub/b c.mp4"] && store.objects["sub/b c.mp4"]?.bytes == bytes)
                let target = try installation.directory.makeDirectory("out")
                store.fail(.get, .cut(5 << 20))
                let get = try await installation.sluice(
                    "s3", "get", "s3://media/sub/b c.mp4", "--to", "\(target)/", "--wait",
                    environment: ["AWS_ENDPOINT_URL_S3": origin])
                #expect(get.code == 0 && contents(of: "\(target)/b c.mp4") == bytes, "\(get.errors)")
                let absent = try await installation.sluice(
                    "s3", "get", "s3://media/absent", "--to", "\(target)/", "--endpoint", origin, "--wait")
                #expect(absent.code == 1 && absent.errors.contains("NoSuchKey"), "\(absent.errors)")
            }
        }

        @Test(arguments: [false, true])
        func `the access key may be in the environment or in a profile, and is stored and printed nowhere`(
            _ isProfile: Bool
        ) async throws {
            let (store, server) = (S3Server(), try await ScriptedServer())
            try await stopping(server) {
                server.handle(by: store)
                let token = "hush-hush-token"
                store.setToken(token)
                try await Installation.with { installation in
                    let profiles = try installation.directory.file(
                        "profiles",
                        Array(
                            """
                            [media]
                            aws_access_key_id = \(S3Server.accessKey)
                            aws_secret_access_key = \(S3Server.secretKey)
                            aws_session_token = \(token)
                            """.utf8))
                    chmod(profiles, 0o600)
                    var environment: [String: String?] = ["AWS_ENDPOINT_URL_S3": server.origin]
                    if isProfile {
                        environment["AWS_PROFILE"] = "media"
                        environment["AWS_SHARED_CREDENTIALS_FILE"] = profiles
                    } else {
                        environment["AWS_ACCESS_KEY_ID"] = S3Server.accessKey
                        environment["AWS_SECRET_ACCESS_KEY"] = S3Server.secretKey
                        environment["AWS_SESSION_TOKEN"] = token
                    }
                    let checked = try await installation.sluice("config", "check", environment: environment)
                    #expect(checked.code == 0, "\(checked.output)")
                    let source = isProfile ? "the profile “media” of \(profiles)" : "AWS_ACCESS_KEY_ID"
                    #expect(
                        checked.output.contains(source) && checked.output.contains(server.origin), "\(checked.output)")
                    let up = try await installation.up(environment: environment)
                    let (path, bytes) = try file(installation, "a", 9)
                    let put = try await installation.sluice(
                        "s3", "put", path, "--to", "s3://media/a", "--wait", environment: environment)
                    #expect(put.code == 0 && store.objects["a"]?.bytes == bytes, "\(put.errors)")
                    // Another endpoint gets no signature of this key.
                    let other = try await installation.sluice(
                        "s3", "put", path, "--to", "s3://media/b", "--endpoint", "http://localhost:\(server.port)",
                        environment: environment)
                    let id = try #require(other.ids.first)
                    try await until("the refusal") {
                        try installation.store().command(id)?.reason?.contains("no access key") == true
                    }
                    #expect(store.objects["b"] == nil && store.log == [.put])
                    for text in [checked.output, put.output, put.errors, installation.logs, "\(up.arguments)"] {
                        #expect(!text.contains(S3Server.secretKey) && !text.contains(token))
                    }
                    for path in try FileManager.default.subpathsOfDirectory(atPath: installation.data) {
                        let bytes = contents(of: "\(installation.data)/\(path)") ?? []
                        for secret in [S3Server.secretKey, token] {
                            #expect(bytes.firstRange(of: Array(secret.utf8)) == nil, "\(path)")
                        }
                    }
                }
            }
        }

        @Test(arguments: [
            (["--to", "s3://media/a"], 64, "--endpoint"), (["--to", "media/a", "--endpoint", "http://h"], 64, "s3://"),
            (["--to", "s3:///a", "--endpoint", "http://h"], 64, "no bucket"),
            (["--to", "s3://media/a", "--endpoint", "h"], 64, "“endpoint” must be a URL"),
            (["--to", "s3://media/a", "--endpoint", "http://h", "--part-size", "1MiB"], 65, "5 MiB to 5 GiB"),
            (["--to", "s3://media/a", "--endpoint", "http://h", "--metadata", "a"], 64, "name=value"),
            (["--to", "s3://media/a", "--endpoint", "http://h", "--header", "Authorization: x"], 65, "signature"),
            (["--to", "s3://media/a", "--endpoint", "http://h", "--spool", "--remove-source"], 64, "leave one out"),
            (["--presigned", "http://h/a?X-Amz-Signature=hush", "--if-absent"], 65, "leave it out"),
            (["--presigned", "http://h/a?X-Amz-Signature=hush", "--endpoint", "http://h"], 64, "--presigned"),
        ])
        func `invalid arguments are refused before anything is submitted`(
            _ arguments: [String], _ code: Int32, _ words: String
        ) async throws {
            try await Installation.with { installation in
                let (path, _) = try file(installation, "a", 9)
                let refused = try await installation.run(
                    program: "\(Installation.bin)/sluice", ["s3", "put", path] + arguments)
                #expect(refused.code == code && refused.errors.contains(words), "\(refused.errors)")
                #expect(refused.output.isEmpty && !refused.errors.contains("hush"))
            }
        }
    }
}
