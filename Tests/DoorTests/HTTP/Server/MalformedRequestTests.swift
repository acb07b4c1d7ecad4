import Door
import Testing

/// Requests that two servers could read differently, and others that are not valid.
struct MalformedRequestTests {
    private static let long = String(repeating: "x", count: 100_000)

    private static let requests: [(name: String, request: String, status: [Int])] = [
        (
            "Content-Length and Transfer-Encoding",
            post("Content-Length: 2\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), [400]
        ),
        (
            "Transfer-Encoding and Content-Length",
            post("Transfer-Encoding: chunked\r\nContent-Length: 2", "0\r\n\r\n"), [400]
        ),
        ("two Content-Length", post("Content-Length: 2\r\nContent-Length: 2", "ab"), [400]),
        ("a list of Content-Length", post("Content-Length: 2, 2", "ab"), [400]),
        ("a signed Content-Length", post("Content-Length: +2", "ab"), [400]),
        ("a negative Content-Length", post("Content-Length: -1", ""), [400]),
        ("a hexadecimal Content-Length", post("Content-Length: 0x2", "ab"), [400]),
        ("an empty Content-Length", post("Content-Length:", ""), [400]),
        ("a Content-Length of 2^63", post("Content-Length: 9223372036854775808", "ab"), [400]),
        ("a Content-Length of 20 digits", post("Content-Length: 99999999999999999999", "ab"), [400]),
        (
            "two Transfer-Encoding", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
            [400, 501]
        ),
        ("chunked, gzip", post("Transfer-Encoding: chunked, gzip", "0\r\n\r\n"), [400]),
        ("gzip, chunked", post("Transfer-Encoding: gzip, chunked", "0\r\n\r\n"), [501]),
        ("identity", post("Transfer-Encoding: identity", "ab"), [400, 501]),
        ("xchunked", post("Transfer-Encoding: xchunked", "ab"), [400, 501]),
        ("a space before the colon", get("Content-Type : a"), [400]),
        ("a folded field", get("X-A: b\r\n c"), [400]),
        ("bare line feeds", "GET /hello HTTP/1.1\nHost: localhost\n\n", [400]),
        ("a bare carriage return", "GET /hello HTTP/1.1\rHost: localhost\r\r", [400]),
        ("a NUL in a field", get("X-A: b\0c"), [400]),
        ("an empty name of a field", get(": b"), [400]),
        ("a space in the name of a field", get("X A: b"), [400]),
        ("an unknown method", "FOO /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", [400, 405, 501]),
        ("CONNECT", "CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n", [501]),
        ("HTTP/0.9", "GET /hello\r\n\r\n", [400]),
        ("HTTP/2 with prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400]),
        ("bytes that are not ASCII in the target", "GET /é HTTP/1.1\r\nHost: localhost\r\n\r\n", [400]),
        ("a space in the target", "GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n", [400]),
        ("a long field", get("X-A: \(long)"), [400, 431]),
        ("a long target", "GET /\(long) HTTP/1.1\r\nHost: localhost\r\n\r\n", [400, 431]),
        ("many fields", get(String(repeating: "X-A: b\r\n", count: 1001) + "X-B: c"), [400, 431]),
        ("no Host", "GET /hello HTTP/1.1\r\n\r\n", [400]),
        ("two Content-Type", post("Content-Length: 1\r\nContent-Type: a/b\r\nContent-Type: a/c", "a"), [400]),
        ("two Hosts", get("Host: localhost"), [400]),
        ("an absolute target of another host", "GET http://evil/hello HTTP/1.1\r\nHost: localhost\r\n\r\n", [400]),
        ("a foreign Host", "GET /hello HTTP/1.1\r\nHost: evil.example\r\n\r\n", [421]),
        ("an encoded slash", "GET /a%2fb HTTP/1.1\r\nHost: localhost\r\n\r\n", [400]),
        ("an asterisk with GET", "GET * HTTP/1.1\r\nHost: localhost\r\n\r\n", [400]),
        ("an unknown expectation", post("Content-Length: 1\r\nExpect: 200-ok", "a"), [417]),
        ("a chunk size of 17 digits", post("Transfer-Encoding: chunked", "10000000000000000\r\n"), [400]),
        ("a chunk with bare line feeds", post("Transfer-Encoding: chunked", "1\na\n0\n\n"), [400]),
    ]

    private static func get(_ fields: String) -> String {
        "GET /hello HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n\r\n"
    }

    private static func post(_ fields: String, _ body: String) -> String {
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\n\(fields)\r\n\r\n\(body)"
    }

    @Test func `a malformed request gets a problem document, and its connection is closed`() async throws {
        try await TestDoor.run { door in
            for (name, request, status) in Self.requests {
                let client = try await door.connect()
                let response = try await client.exchange(request)
                #expect(status.contains(response.status), "\(name): \(response.status)")
                #expect(response["content-type"] == "application/problem+json", "\(name)")
                #expect(response.closes, "\(name)")
                #expect(response["x-request-id"]?.count == 36, "\(name)")
                #expect(response["x-content-type-options"] == "nosniff", "\(name)")
                try await client.finish()
                try await client.ended()
                #expect(client.text == "", "\(name)")
            }
            #expect(door.server.statistics.badRequests.values.reduce(0, +) > 30)
            let response = try await door.connect().exchange("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(response.status == 200)
        }
    }

    @Test func `a chunk extension of 200 kB is read and dropped`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            let request = Self.post("Transfer-Encoding: chunked", "1;x=\(Self.long)\(Self.long)\r\na\r\n0\r\n\r\n")
            let response = try await client.exchange(request)
            #expect(response.body == "a")
            await client.close()
        }
    }
}
