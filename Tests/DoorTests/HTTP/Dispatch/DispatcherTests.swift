import Door
import HTTPTypes
import Synchronization
import Testing

struct DispatcherTests {
    private func request(_ method: String, _ path: String, _ fields: String...) -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields.map { $0 + "\r\n" }.joined())\r\n"
    }

    private static func authenticate(_ request: DoorRequest) async throws(Problem) -> Principal? {
        switch request.fields[.authorization] {
        case "Bearer reader": Principal(token: "1", name: "reader", scopes: [.read])
        case "Bearer sender": Principal(token: "2", name: "sender", scopes: [.submit])
        case nil: nil
        default: throw Problem(.unauthorized, "token-invalid", "Unknown.", fields: [.wwwAuthenticate: "Bearer"])
        }
    }

    @Test func `an unknown path is 404, an unknown method of a known one 405 with Allow`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            #expect(try await client.exchange(request("GET", "/nothing")).status == 404)
            let response = try await client.exchange(request("DELETE", "/hello"))
            #expect(response.status == 405)
            #expect(response["allow"] == "GET, HEAD, OPTIONS")
            #expect(response.body.contains(#""allowed":["GET","HEAD","OPTIONS"]"#))
            let head = try await client.exchange(request("HEAD", "/uploads"), isHead: true)
            #expect(head.status == 405)
            let options = try await client.exchange(request("OPTIONS", "/hello"))
            #expect(options.status == 204)
            #expect(options["allow"] == "GET, HEAD, OPTIONS")
            #expect(options["content-length"] == nil)
            #expect(try await client.exchange(request("OPTIONS", "*")).status == 204)
            await client.close()
        }
    }

    @Test func `scopes are checked`() async throws {
        try await TestDoor.run(authenticate: Self.authenticate) { door in
            let client = try await door.connect()
            let missing = try await client.exchange(request("GET", "/scoped"))
            #expect(missing.status == 401)
            #expect(missing["www-authenticate"] == "Bearer")
            #expect(try await client.exchange(request("GET", "/scoped", "Authorization: Bearer x")).status == 401)
            let forbidden = try await client.exchange(request("GET", "/scoped", "Authorization: Bearer sender"))
            #expect(forbidden.status == 403)
            #expect(forbidden.body.contains("control or read"))
            let permitted = try await client.exchange(request("GET", "/scoped", "Authorization: Bearer reader"))
            #expect(permitted.body == "permitted")
            #expect(try await client.exchange(request("GET", "/hello")).status == 200)
            await client.close()
        }
    }

    @Test func `a method may present its errors in a form of its own`() async throws {
        let method = Endpoint.Method(
            scopes: [.read], present: { _, problem in TestEndpoints.text("page of \(problem.type)") },
            { _ in throw Problem(.notFound, "gone", "Gone.") })
        let page = Endpoint("/page", methods: [.get: method])
        try await TestDoor.run([page], authenticate: Self.authenticate) { door in
            let client = try await door.connect()
            #expect(try await client.exchange(request("GET", "/page")).body == "page of token-missing")
            let reader = request("GET", "/page", "Authorization: Bearer reader")
            #expect(try await client.exchange(reader).body == "page of gone")
            #expect(try await client.exchange(request("PUT", "/page")).body.contains("method-not-allowed"))
            await client.close()
        }
    }

    @Test func `each request is observed with its route, not its path`() async throws {
        let observed = Mutex<[CompletedRequest]>([])
        var setup = TestDoor.configured { _ in }
        setup.authenticate = Self.authenticate
        setup.observe = { request in observed.withLock { $0.append(request) } }
        try await setup.run { door in
            let client = try await door.connect()
            _ = try await client.exchange(request("GET", "/facts/secret"))
            _ = try await client.exchange(request("GET", "/nothing"))
            _ = try await client.exchange(request("GET", "/scoped", "Authorization: Bearer reader"))
            _ = try await client.exchange("nonsense\r\n\r\n")
            await client.close()
        }
        let all = observed.withLock { $0 }
        #expect(all.map(\.route) == ["/facts/{name}", nil, "/scoped", nil])
        #expect(all.map(\.status.code) == [200, 404, 200, 400])
        #expect(all.map(\.method) == [.get, .get, .get, nil])
        #expect(all.map(\.principal?.name) == [nil, nil, "reader", nil])
        #expect(all.map(\.isComplete) == [true, true, true, true])
    }

    @Test func `pages of other origins may use the endpoints that allow it`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            let origin = "Origin: https://app.example"
            let preflight = try await client.exchange(
                request("OPTIONS", "/uploads", origin, "Access-Control-Request-Method: PATCH"))
            #expect(preflight["access-control-allow-origin"] == "https://app.example")
            #expect(preflight["access-control-allow-methods"] == "OPTIONS, PATCH, POST")
            #expect(preflight["access-control-max-age"] == "86400")
            let wrong = try await client.exchange(request("DELETE", "/uploads", origin))
            #expect(wrong.status == 405)
            #expect(wrong["access-control-expose-headers"]?.contains("Location") == true)
            #expect(wrong["server"] == "decorated")
            let other = try await client.exchange(request("GET", "/hello", origin))
            #expect(other["access-control-allow-origin"] == nil)
            await client.close()
        }
    }

    @Test func `a change that another page sends with a cookie is refused`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            let response = try await client.exchange(
                request("POST", "/uploads", "Cookie: session=x", "Origin: https://evil.example", "Content-Length: 0"))
            #expect(response.status == 403)
            #expect(response.body.contains("cross-origin"))
            await client.close()
        }
    }

    @Test func `a method may be overridden where the endpoint says so`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            let patch = "X-HTTP-Method-Override: PATCH"
            let site = "Sec-Fetch-Site: none"
            #expect(try await client.exchange(request("POST", "/uploads", patch, site)).body == "PATCH")
            #expect(try await client.exchange(request("POST", "/echo", patch, site)).status == 200)
            #expect(try await client.exchange(request("GET", "/hello", patch)).body == "hello")
            let bad = try await client.exchange(request("POST", "/uploads", "X-HTTP-Method-Override: PUT", site))
            #expect(bad.status == 400)
            await client.close()
        }
    }
}
