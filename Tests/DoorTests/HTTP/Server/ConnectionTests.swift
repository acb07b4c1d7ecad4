import Door
import HTTPTypes
import Testing

/// Requests and responses on one connection.
struct ConnectionTests {
    private func get(_ path: String, _ fields: String = "") -> String {
        "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n"
    }

    @Test func `a connection is kept for the next request`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            for _ in 0..<3 {
                let response = try await client.exchange(get("/hello"))
                #expect(response.status == 200)
                #expect(response.body == "hello")
                #expect(!response.closes)
                #expect(response["date"]?.hasSuffix("GMT") == true)
                #expect(response["cache-control"] == "no-store")
                #expect(response["referrer-policy"] == "same-origin")
            }
            await client.close()
        }
    }

    @Test func `pipelined requests are answered in their order`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            let posts = (10..<30).map {
                "POST /echo HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\nContent-Length: 2\r\n\r\n\($0)"
            }
            try await client.send(posts.joined())
            for number in 10..<30 { #expect(try await client.response().body == "\(number)") }
            await client.close()
        }
    }

    @Test func `a stream is chunked in HTTP 1.1 and ends with the connection in HTTP 1.0`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            let response = try await client.exchange(get("/stream"))
            #expect(response["transfer-encoding"] == "chunked")
            #expect(response.body == "part 1\npart 2\npart 3\n")
            let head = try await client.exchange("HEAD /stream HTTP/1.1\r\nHost: localhost\r\n\r\n", isHead: true)
            #expect(head.status == 200)
            #expect(try await client.exchange(get("/hello")).body == "hello")
            await client.close()

            let old = try await door.connect()
            try await old.send("GET /stream HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n")
            try await old.ended()
            #expect(old.text.hasSuffix("\r\n\r\npart 1\npart 2\npart 3\n"))
            #expect(!old.text.lowercased().contains("transfer-encoding"))
        }
    }

    /// As HAProxy asks with `option httpchk`.
    @Test func `a request of HTTP 1.0 without Host reads the health, and nothing else`() async throws {
        try await TestDoor.run { door in
            for (target, status) in [("/healthz", 200), ("/hello", 400), ("/nowhere", 404)] {
                let client = try await door.connect()
                #expect(try await client.exchange("GET \(target) HTTP/1.0\r\n\r\n").status == status, "\(target)")
                try await client.ended()
            }
            let client = try await door.connect()
            #expect(try await client.exchange("GET /healthz HTTP/1.1\r\n\r\n").status == 400)
        }
    }

    @Test func `links have the scheme that a trusted proxy states, and none where another one does`() async throws {
        let forwarded = "X-Forwarded-Proto: https\r\n"
        for (proxies, base) in [(["127.0.0.1"], "https://localhost/base"), ([], "/base")] {
            try await TestDoor.configured {
                $0.basePath = "/base"
                $0.trustedProxies = proxies
            }.run { door in
                let client = try await door.connect()
                let body = try await client.exchange(get("/base/facts/a", forwarded)).body
                #expect(body.contains(" \(base) "), "\(body)")
                let direct = try await client.exchange(get("/base/facts/a")).body
                #expect(direct.contains(" http://localhost/base "), "\(direct)")
                await client.close()
            }
        }
    }

    @Test func `HEAD has the fields of GET and no body`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            let head = try await client.exchange("HEAD /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", isHead: true)
            #expect(head.status == 200)
            #expect(head["content-length"] == "5")
            #expect(try await client.exchange(get("/hello")).body == "hello")
            await client.close()
        }
    }

    @Test(arguments: ["close", "Close", "keep-alive, CLOSE"])
    func `Connection close is understood in any case`(_ value: String) async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            #expect(try await client.exchange(get("/hello", "Connection: \(value)\r\n")).closes)
            try await client.ended()
        }
    }

    @Test func `a request to upgrade is answered, and its connection closed`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            let response = try await client.exchange(
                get("/hello", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"))
            #expect(response.status == 200)
            #expect(response.closes)
            try await client.ended()
        }
    }

    @Test func `an error of a handler is a problem document that says nothing of the server`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            let response = try await client.exchange(get("/fail"))
            #expect(response.status == 500)
            #expect(response.body.contains("/problems/internal-error"))
            #expect(!response.body.contains("Unexpected"))
            #expect(response.body.contains(response["x-request-id"] ?? "?"))
            #expect(!response.closes)
            await client.close()
        }
    }

    @Test func `a base path, a proxy and a public URL are taken from the configuration`() async throws {
        try await TestDoor.configured { configuration in
            configuration.basePath = "/sluice"
            configuration.publicBaseURL = "https://door.example/sluice"
            configuration.trustedProxies = ["127.0.0.1"]
        }.run { door in
            let client = try await door.connect()
            let fields = "Host: door.example\r\nX-Forwarded-For: 192.0.2.1"
            let response = try await client.exchange("GET /sluice/facts/a%20b?c=d HTTP/1.1\r\n\(fields)\r\n\r\n")
            let expected = #"["name": "a b"] 192.0.2.1 https://door.example/sluice [(name: "c", value: "d")]"#
            #expect(response.body == expected)
            let other = try await client.exchange(get("/hello"))
            #expect(other.status == 404)
            #expect(other.body.contains("/sluice/problems/not-found"))
            await client.close()
        }
    }

    @Test func `a client of a slow link takes a large response in pieces`() async throws {
        try await TestDoor.configured { configuration in
            configuration.writeTimeout = .milliseconds(300)
        }.run { door in
            let client = try await door.connect(readsResponses: false)
            try await client.send(get("/large"))
            try await untilExpired(door, "slow-reader")
            await client.close()
        }
    }
}
