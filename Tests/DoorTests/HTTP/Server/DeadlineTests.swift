import Door
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Waits until a connection was closed for that reason.
func untilExpired(_ door: TestDoor, _ reason: String) async throws {
    try await until("a connection that is closed as \(reason)") { door.server.statistics.expired[reason] != nil }
}

struct DeadlineTests {
    @Test func `a silent client is disconnected`() async throws {
        try await TestDoor.configured { $0.headerTimeout = .milliseconds(100) }.run { door in
            let client = try await door.connect()
            try await client.ended()
            #expect(client.text == "")
            #expect(door.server.statistics.expired == ["silent": 1])
        }
    }

    @Test func `a header that comes byte by byte is answered with 408`() async throws {
        try await TestDoor.configured { $0.headerTimeout = .seconds(1) }.run { door in
            let client = try await door.connect()
            try await client.send("GET /hello HTTP/1.1\r\nX-A: ")
            async let sent = client.sendForever("a")
            let response = try await client.response()
            #expect(response.status == 408)
            #expect(response.closes)
            try await client.ended()
            await client.close()
            #expect(await sent > 0)
        }
    }

    @Test func `a body that stalls is answered with 408`() async throws {
        try await TestDoor.configured { configuration in
            configuration.bodyRateWindow = .milliseconds(200)
        }.run { door in
            let client = try await door.connect()
            try await client.send(
                "POST /echo HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\nContent-Length: 100\r\n\r\nabc")
            let response = try await client.response()
            #expect(response.status == 408)
            #expect(response.body.contains("slow-body"))
            try await client.finish()
            try await client.ended()
        }
    }

    @Test func `a body is not slow while its handler does not read`() async throws {
        let gate = Gate()
        let slow = Endpoint(
            "/slow",
            methods: [
                .post: .init(scopes: nil) { request in
                    await gate.opened()
                    return TestEndpoints.text(try await request.bodyText)
                }
            ])
        try await TestDoor.configured([slow] + TestEndpoints.all) { configuration in
            configuration.bodyRateWindow = .milliseconds(100)
        }.run { door in
            let client = try await door.connect()
            try await client.send(
                "POST /slow HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\nContent-Length: 5\r\n\r\nab")
            // Another body is too slow in the meantime, so this one would have been too.
            let other = try await door.connect()
            let refused = try await other.exchange(
                "POST /echo HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\nContent-Length: 100\r\n\r\n")
            #expect(refused.status == 408)
            try await client.send("cde")
            await gate.open()
            #expect(try await client.response().body == "abcde")
            await client.close()
            await other.close()
        }
    }

    @Test func `a connection without a further request is closed`() async throws {
        try await TestDoor.configured { $0.keepAliveTimeout = .milliseconds(100) }.run { door in
            let client = try await door.connect()
            #expect(try await client.exchange("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 200)
            try await client.ended()
            #expect(door.server.statistics.expired == ["idle": 1])
        }
    }

    @Test func `the last connections serve only essential endpoints`() async throws {
        try await TestDoor.configured { $0.maxConnections = 8 }.run { door in
            var clients: [RawClient] = []
            for number in 1...8 {
                clients.append(try await door.connect())
                // Event loops may admit connections in another order than they came.
                try await until("connection \(number)") {
                    door.server.statistics.connections.load(ordering: .relaxed) == number
                }
            }
            let hello = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"
            #expect(try await clients[0].exchange(hello).status == 200)
            let refused = try await clients[7].exchange(hello)
            #expect(refused.status == 503)
            #expect(refused.closes)
            await clients[7].close()
            try await until("7 connections") { door.server.statistics.connections.load(ordering: .relaxed) == 7 }
            let health = try await door.connect()
            #expect(try await health.exchange("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 200)
            for client in clients + [health] { await client.close() }
        }
    }

    @Test func `connections beyond the maximum get 503`() async throws {
        try await TestDoor.configured { $0.maxConnections = 2 }.run { door in
            let hello = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"
            let first = try await door.connect()
            let second = try await door.connect()
            #expect(try await first.exchange(hello).status == 200)
            #expect(try await second.exchange(hello).status == 200)
            let third = try await door.connect()
            let refusal = try await third.response()
            #expect(refusal.status == 503)
            #expect(refusal["retry-after"] == "5")
            #expect(refusal.closes)
            #expect(refusal.body.contains("too-many-connections"))
            try await third.ended()
            await third.close()
            await first.close()
            let statistics = door.server.statistics
            try await until("room for a connection") { statistics.connections.load(ordering: .relaxed) == 1 }
            #expect(try await door.connect().exchange(hello).status == 200)
            await second.close()
        }
    }
}
