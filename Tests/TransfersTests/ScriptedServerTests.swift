import Host
import TestSupport
import Testing

/// Test servers follow their scripts, as seen by curl.
@Suite(.enabled(if: Curl.isInstalled, "curl is not installed"))
struct ScriptedServerTests {
    private func with(
        _ script: String, options: ScriptedServer.Options = .init(),
        _ body: (ScriptedServer) async throws -> Void
    ) async throws {
        let server = try await ScriptedServer(options)
        try await stopping(server) {
            try server.run(script)
            try await body(server)
        }
    }

    @Test func `the first rule that matches decides, by method, path and header`() async throws {
        let script = """
            GET /a with x-key "1" : answer 202
            GET /a : answer 200 "Fine" header "X-Me: {target} {method} {number} {x-key} {nothing}." body "{\\"a\\": 1}"
            * /in/* : answer 204
            * * without authorization : answer 401 header "WWW-Authenticate: Digest realm=a" body "no {origin}"
            """
        try await with(script) { server in
            #expect(
                try await Curl.answers("\(server.origin)/a?b", "-H", "X-Key: 1").hasPrefix("HTTP/1.1 202 Status\r\n"))
            #expect(
                try await Curl.answers("\(server.origin)/a?b", "-H", "X-Key: 2")
                    == "HTTP/1.1 200 Fine\r\nX-Me: /a?b GET 2 2 .\r\nContent-Length: 8\r\n\r\n{\"a\": 1}")
            #expect(try await Curl.answers("\(server.origin)/in/b/c") == "HTTP/1.1 204 Status\r\n\r\n")
            let refused = try await Curl.answers("\(server.origin)/c")
            #expect(refused.hasPrefix("HTTP/1.1 401 ") && refused.hasSuffix("no \(server.origin)"), "\(refused)")
            #expect(try await Curl.answers("\(server.origin)/c", "-u", "a:b").hasPrefix("HTTP/1.1 201 "))
            #expect(server.requests.map(\.answered) == [202, 200, 204, 401, 201])
        }
    }

    @Test func `requests are counted by rule, or for each target`() async throws {
        let script = """
            GET /a #1-2 : answer 503
            GET /a #4- : answer 410
            GET /each/* each #1 : answer 503
            GET /second every 2 : answer 503
            * * : answer 200
            """
        try await with(script) { server in
            for path in ["/a", "/a", "/a", "/a", "/a", "/each/b", "/each/c", "/each/b", "/second", "/second"] {
                _ = try await Curl.answers(server.origin + path)
            }
            #expect(server.requests.map(\.answered) == [503, 503, 200, 410, 410, 503, 503, 200, 200, 503])
        }
    }

    @Test func `a body above the limit is refused before it is read, and a busy server refuses`() async throws {
        let script = """
            PUT * body > 1k : answer 413 header "Connection: close"; discard 1s; close
            PUT /slow active > 1 : answer 429 header "Retry-After: 7"
            PUT /slow : read; wait 2s; answer 201
            """
        try await with(script) { server in
            let text = String(repeating: "a", count: 1025)
            #expect(try await Curl.answers("-X", "PUT", "-d", text, "\(server.origin)/a").hasPrefix("HTTP/1.1 413 "))
            async let first = Curl.answers("-X", "PUT", "-d", "b", "\(server.origin)/slow")
            try await until("the first request") { server.requests(to: "/slow").count == 1 }
            let second = try await Curl.answers("-X", "PUT", "-d", "b", "\(server.origin)/slow")
            #expect(second.hasPrefix("HTTP/1.1 429 ") && second.contains("Retry-After: 7"))
            #expect(try await first.hasPrefix("HTTP/1.1 201 "))
            #expect(server.active == 0)
            #expect(server.holds("/slow", Array("b".utf8)) && !server.holds("/slow", Array("c".utf8)))
        }
    }

    @Test func `a response is framed and paced by its script`() async throws {
        let script = """
            * /chunks : answer 200 chunked body "abcdef" drip body 4 every 10ms
            * /unended : answer 200 unended body 3; close
            * /closed : answer 200 length none body 5; close
            * /short : answer 200 length 9 body "abc"; close
            * /many : answer 200 fields 300
            * /wide : answer 200 field 80k
            * /head : interim 103 header "Link: </a>"; answer 200 drip head 5 every 5ms body "x"
            * /raw : send "220 hello\\r\\n\\x00" drip 3 every 5ms; half-close; wait 50ms; close
            """
        try await with(script) { server in
            #expect(
                try await Curl.answers("\(server.origin)/chunks")
                    == "HTTP/1.1 200 Status\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n2\r\nef\r\n0\r\n\r\n")
            #expect(try await Curl.answers("\(server.origin)/unended").hasSuffix("\r\n\r\n3\r\nxxx\r\n"))
            #expect(try await Curl.answers("\(server.origin)/closed") == "HTTP/1.1 200 Status\r\n\r\nxxxxx")
            // 18: the transfer ended early.
            #expect(try await Curl.ending("\(server.origin)/short") == .exited(18))
            #expect(try await Curl.answers("\(server.origin)/many").contains("\r\nX-300: 300\r\n"))
            #expect(try await Curl.answers("\(server.origin)/wide").utf8.count > 80 << 10)
            let head = try await Curl.answers("\(server.origin)/head")
            #expect(
                head.hasPrefix("HTTP/1.1 103 Status\r\nLink: </a>\r\n\r\nHTTP/1.1 200 ") && head.hasSuffix("\r\n\r\nx"))
            #expect(try await Curl.answers("--http0.9", "\(server.origin)/raw").hasSuffix("220 hello\r\n\0"))
        }
    }

    @Test(.enabled(if: runsSlowTests, "slow"))
    func `a connection ends as its script says`() async throws {
        let script = """
            * /close : close
            * /reset : reset
            * /hang : hang
            * /idle : answer 200 header "Keep-Alive: timeout=1"; idle 50ms
            """
        try await with(script) { server in
            // 52: no answer; 56: reset; 28: timed out.
            #expect(try await Curl.ending("\(server.origin)/close") == .exited(52))
            #expect(try await Curl.ending("\(server.origin)/reset") == .exited(56))
            #expect(try await Curl.ending("-m", "0.2", "\(server.origin)/hang") == .exited(28))
            // At 20 requests a minute curl waits 3 s between two requests.
            let urls = ["\(server.origin)/idle", "\(server.origin)/idle"]
            _ = try await Curl.answers("--rate", "20/m", urls[0], urls[1])
            let used = server.requests(to: "/idle").map(\.connection)
            #expect(used.count == 2 && used[0] != used[1], "\(used)")
        }
    }

    @Test func `a proxy forwards requests and tunnels, and demands its password`() async throws {
        let server = try await ScriptedServer()
        let script = """
            * * without proxy-authorization "Basic dTpw" : answer 407 header "Proxy-Authenticate: Basic realm=a"
            CONNECT * : tunnel 127.0.0.1:\(server.port)
            * http://* : forward 127.0.0.1:\(server.port)
            """
        try await with(script) { proxy in
            let refused = try await Curl.answers("-x", proxy.origin, "http://media.invalid/a")
            #expect(refused.hasPrefix("HTTP/1.1 407 "))
            let forwarded = try await Curl.answers(
                "-x", proxy.origin, "--proxy-user", "u:p", "-d", "ab", "http://media.invalid/a?b")
            #expect(forwarded.hasPrefix("HTTP/1.1 201 "))
            let tunnelled = try await Curl.answers(
                "-x", proxy.origin, "--proxy-user", "u:p", "-p", "-d", "abc", "http://media.invalid:81/c")
            #expect(tunnelled.contains("HTTP/1.1 201 "))
            #expect(
                proxy.requests.map(\.target) == [
                    "http://media.invalid/a", "http://media.invalid/a?b", "media.invalid:81",
                ])
            #expect(server.requests.map(\.target) == ["/a?b", "/c"])
            #expect(server.requests.map { $0["proxy-authorization"] } == [nil, nil])
            #expect(server.requests.map { $0["host"] } == ["media.invalid", "media.invalid:81"])
        }
        await server.stop()
    }

    @Test func `a test server stores files by Content-Range and tus`() async throws {
        try await with("* * : store after 1ms") { server in
            _ = try await Curl.answers("-X", "PUT", "-d", "abc", "\(server.origin)/a")
            _ = try await Curl.answers(
                "-X", "PUT", "-d", "de", "-H", "Content-Range: bytes 3-4/5", "\(server.origin)/a")
            #expect(server.holds("/a", Array("abcde".utf8)))
            #expect(try await Curl.answers("-I", "\(server.origin)/a").contains("content-length: 5\r\n"))
            let hole = try await Curl.answers(
                "-X", "PUT", "-d", "x", "-H", "Content-Range: bytes 9-9/10", "\(server.origin)/a")
            #expect(hole.hasPrefix("HTTP/1.1 416 "))
            let tus = ["-H", "Tus-Resumable: 1.0.0"]
            let made = try await Curl.answers(
                tus[0], tus[1], "-X", "POST", "-H", "Upload-Length: 3", "\(server.origin)/tus")
            #expect(made.contains("location: /tus/1\r\n"))
            let appended = try await Curl.answers(
                tus[0], tus[1], "-X", "PATCH", "-d", "abc", "-H", "Upload-Offset: 0", "-H",
                "Content-Type: application/offset+octet-stream", "\(server.origin)/tus/1")
            #expect(appended.hasPrefix("HTTP/1.1 204 ") && appended.contains("upload-offset: 3\r\n"))
            #expect(server.holds("/tus/1", Array("abc".utf8)))
        }
    }

    @Test func `a body that is stored with pauses is read in pieces`() async throws {
        try await with("* * : store pausing 150ms every 4") { server in
            for body in ["abcdefghij", "abcdefgh", "abc"] {
                _ = try await Curl.answers("-X", "PUT", "-d", body, "\(server.origin)/\(body.count)")
                #expect(server.holds("/\(body.count)", Array(body.utf8)))
            }
            // No pause follows the last byte.
            let pauses = server.requests.map { Int((($0.answeredAt ?? .now) - $0.began) / .milliseconds(150)) }
            #expect(pauses == [2, 1, 0])
        }
    }

    @Test func `test certificates have the stated dates, names and issuers`() async throws {
        let directory = try TemporaryDirectory("certificates")
        defer { directory.remove() }
        let root = TestAuthority("Test root")
        let file = try directory.file("root.pem", Array(root.certificate.utf8))
        let issuer = root.authority("Test issuer")
        // 60: the certificate is not accepted.
        let cases: [(TestIdentity, Int32)] = [
            (issuer.issue("localhost"), 0), (issuer.issue("other.example"), 60),
            (issuer.issue("localhost", validity: .expired), 60), (issuer.issue("localhost", validity: .notYet), 60),
            (TestAuthority("Other root").issue("localhost"), 60), (TestIdentity.selfSigned, 60),
        ]
        var options = ScriptedServer.Options()
        for (identity, code) in cases {
            options.identity = identity
            try await with("* * : answer 200", options: options) { server in
                let ending = try await Curl.ending("--cacert", file, "https://localhost:\(server.port)/")
                #expect(ending == .exited(code))
            }
        }
        options.identity = root.issue("localhost")
        options.clientRoots = root.certificate
        let client = issuer.issue("client")
        let certificate = try directory.file("client.pem", Array(client.certificate.utf8))
        let key = try directory.file("client.key", Array(client.key.utf8))
        for versions in [TestIdentity.Versions.only12, .only13] {
            options.versions = versions
            try await with("* * : answer 200", options: options) { server in
                let url = "https://localhost:\(server.port)/"
                let without = try await Curl.ending("--cacert", file, url)
                #expect(without != .exited(0))
                #expect(server.requests.isEmpty)
                let with = try await Curl.ending("--cacert", file, "--cert", certificate, "--key", key, url)
                #expect(with == .exited(0))
            }
        }
    }
}
