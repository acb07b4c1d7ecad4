import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// The door behind proxies, under a path of a site, with the configurations that Sluice comes with.
    @Suite(
        .enabled(if: isAvailable(ReverseProxy.Kind.areInstalled), "needs the proxies of deploy/prepare test"))
    struct ReverseProxyTests {
        private func with(
            _ kind: ReverseProxy.Kind, _ body: (Installation, DoorRig, ReverseProxy) async throws -> Void
        ) async throws {
            try await Installation.with { installation in
                let port = try freePort()
                try FileManager.default.createDirectory(
                    atPath: installation.data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700]
                )
                try """
                door:
                  basePath: /sluice
                  publicURL: https://localhost:\(port)/sluice
                  trustedProxies: [127.0.0.1]
                  interimResponses: \(kind == .nginx ? "false" : "true")
                """.write(toFile: "\(installation.data)/sluice.yaml", atomically: true, encoding: .utf8)
                let door = try await DoorRig(installation)
                let proxy = try await ReverseProxy(kind, installation, port: port, door: door.port)
                try await body(installation, door, proxy)
            }
        }

        private func curl(
            _ installation: Installation, _ door: DoorRig, _ proxy: ReverseProxy, _ arguments: String...
        ) async throws -> String {
            try await installation.run(
                program: "/usr/bin/curl",
                [
                    "-sS", "-i", "--http1.1", "--cacert", proxy.certificate, "-H",
                    "Authorization: Bearer \(try door.token)",
                ] + arguments
            ).output
        }

        private func field(_ name: String, _ response: String) throws -> String {
            let prefix = "\(name.lowercased()): "
            let line = response.split(whereSeparator: \.isNewline).first { $0.lowercased().hasPrefix(prefix) }
            return String(try #require(line, "\(response)").dropFirst(prefix.count))
        }

        @Test(arguments: ReverseProxy.Kind.allCases)
        func `a foreign client uploads through a proxy while the door is killed`(_ kind: ReverseProxy.Kind) async throws
        {
            try await with(kind) { installation, door, proxy in
                var random = SeededRandom.announced("ReverseProxyTests")
                let bytes = random.bytes(6_000_000)
                let path = try installation.directory.file("source.bin", bytes)
                let python = try #require(PythonScript.interpreter(with: "tusclient"))
                let upload = try installation.start(
                    program: python,
                    [PythonScript.path("upload-client.py"), "tuspy", "\(proxy.url)/uploads", try door.token, path],
                    environment: ["REQUESTS_CA_BUNDLE": proxy.certificate])
                try await door.receiveFirstBytes(or: upload)
                try await door.kill()
                try await door.start()
                let finished = try await installation.finished(upload, within: .seconds(90))
                #expect(finished.code == 0, "\(finished.errors)")
                let url = try #require(finished.lines.last)
                #expect(url.hasPrefix("\(proxy.url)/uploads/"))
                #expect(door.bytes(url) == bytes)
            }
        }

        @Test(arguments: ReverseProxy.Kind.allCases)
        func `the bytes of a request that is cut reach the door, and the upload goes on`(
            _ kind: ReverseProxy.Kind
        ) async throws {
            try await with(kind) { installation, door, proxy in
                var random = SeededRandom.announced("ReverseProxyTests")
                let bytes = random.bytes(4_000_000)
                let path = try installation.directory.file("source.bin", bytes)
                let made = try await curl(
                    installation, door, proxy, "-X", "POST", "-H", "Upload-Draft-Interop-Version: 8", "-H",
                    "Upload-Complete: ?0", "\(proxy.url)/uploads?name=a.bin")
                let url = try field("location", made)
                #expect(url.hasPrefix("\(proxy.url)/uploads/"))
                let first = try installation.start(
                    program: "/usr/bin/curl",
                    [
                        "-sS", "--http1.1", "--cacert", proxy.certificate, "-H",
                        "Authorization: Bearer \(try door.token)",
                        "-X", "PATCH", "-H", "Upload-Draft-Interop-Version: 8", "-H", "Upload-Offset: 0", "-H",
                        "Upload-Complete: ?1", "-H", "Content-Type: application/partial-upload", "--limit-rate", "1M",
                        "--data-binary", "@\(path)", url,
                    ])
                // The door has not seen the end of the request: a proxy that gathers the body would pass nothing on.
                try await door.receiveFirstBytes(or: first)
                first.signal(SIGKILL)
                _ = try await first.end(within: .seconds(10))
                let offset = try await awaited("the offset") { () async throws -> Int? in
                    let head = try await curl(
                        installation, door, proxy, "--head", "-H", "Upload-Draft-Interop-Version: 8", url)
                    return Int(try field("upload-offset", head)).flatMap { $0 > 0 ? $0 : nil }
                }
                let rest = try installation.directory.file("rest.bin", Array(bytes[offset...]))
                let end = try await curl(
                    installation, door, proxy, "-X", "PATCH", "-H", "Upload-Draft-Interop-Version: 8", "-H",
                    "Upload-Offset: \(offset)", "-H", "Upload-Complete: ?1", "-H",
                    "Content-Type: application/partial-upload", "--data-binary", "@\(rest)", url)
                #expect(try field("upload-complete", end) == "?1")
                #expect(door.bytes(url) == bytes)
            }
        }

        @Test(arguments: ReverseProxy.Kind.allCases)
        func `pages have links below the path, and events come one by one`(_ kind: ReverseProxy.Kind) async throws {
            try await with(kind) { installation, door, proxy in
                // HAProxy takes a moment until its check of the door has succeeded.
                let page = try await awaited("the page") { () async throws -> String? in
                    let page = try await curl(installation, door, proxy, "\(proxy.url)/login")
                    return page.contains(" 200") ? page : nil
                }
                #expect(page.contains("action=\"/sluice/login\"") && page.contains("href=\"/sluice/assets/"), "\(page)")
                #expect(!page.contains("\"/login") && !page.contains("\"/assets/"))
                let overview = try await curl(installation, door, proxy, "\(proxy.url)/")
                #expect(overview.contains("href=\"/sluice/commands") && !overview.contains("href=\"/commands"))
                let bare = try await curl(installation, door, proxy, "https://localhost:\(proxy.port)/sluice")
                #expect(try bare.contains(" 301 ") && field("location", bare).hasSuffix("/sluice/"), "\(bare)")
                let stream = try installation.start(
                    program: "/usr/bin/curl",
                    [
                        "-sSN", "--http1.1", "--cacert", proxy.certificate, "-H",
                        "Authorization: Bearer \(try door.token)", "\(proxy.url)/api/v1/events?stream=log",
                    ])
                try await until("the head of the stream") { stream.output.contains("retry:") }
                let submitted = try await installation.sluice("submit", "noop")
                let id = try #require(submitted.ids.first)
                // The stream does not end: a proxy that gathers responses would pass nothing on.
                try await until("the event") { stream.output.contains("\(id)") }
                #expect(stream.ending == nil)
            }
        }

        @Test(arguments: ReverseProxy.Kind.allCases)
        func `the proxy names the client, and a client cannot`(_ kind: ReverseProxy.Kind) async throws {
            try await with(kind) { installation, door, proxy in
                let response = try await installation.run(
                    program: "/usr/bin/curl",
                    [
                        "-sS", "-i", "--http1.1", "--cacert", proxy.certificate, "-H", "X-Forwarded-For: 203.0.113.9",
                        "-H",
                        "Authorization: Bearer slu_wrong", "\(proxy.url)/uploads/\(CommandID())",
                    ])
                #expect(response.output.contains("401 Unauthorized"), "\(response.output)")
                try await until("the log") { door.errors.contains("has no usable token") }
                #expect(door.errors.contains(#""client":"127.0.0.1""#) && !door.errors.contains("203.0.113.9"))
                let outside = try await curl(installation, door, proxy, "https://localhost:\(proxy.port)/uploads")
                #expect(outside.contains(" 404 ") || outside.contains(" 503 ") || outside.contains(" 200 "))
                #expect(
                    !outside.lowercased().contains("x-request-id"), "a path outside of /sluice must not reach the door")
            }
        }
    }
}
