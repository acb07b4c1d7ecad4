import Door
import Synchronization
import TestSupport
import Testing

struct MutatedRequestTests {
    private static let requests = [
        "GET /facts/a%20b?c=d&e=f HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\nContent-Length: 11\r\n\r\nhello world",
        "POST /count HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nA: b\r\n\r\n",
        "OPTIONS /uploads HTTP/1.1\r\nHost: localhost\r\nOrigin: http://a\r\nAccess-Control-Request-Method: PATCH\r\n\r\n",
        "POST /refuse HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello",
    ]

    @Test func `no change of a request stops the server`() async throws {
        var random = SeededRandom.announced("no change of a request stops the server")
        try await TestDoor.configured { $0.drainTimeout = .milliseconds(20) }.run { door in
            for _ in 0..<150 {
                var bytes = Array(
                    (0..<Int.random(in: 1...3, using: &random)).flatMap { _ in
                        Array(Self.requests.randomElement(using: &random)?.utf8 ?? "".utf8)
                    })
                for _ in 0..<Int.random(in: 1...4, using: &random) { Self.mutate(&bytes, using: &random) }
                let client = try await door.connect()
                // The server may have closed the connection already.
                try? await client.send(bytes)
                try? await client.finish()
                try await client.ended()
                await client.close()
            }
            let response = try await door.connect().exchange("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(response.body == "hello")
            try await until("the end of all other requests") {
                door.server.statistics.activeRequests.load(ordering: .relaxed) == 0
            }
        }
    }

    private static func mutate(_ bytes: inout [UInt8], using random: inout SeededRandom) {
        guard let position = bytes.indices.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[position] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: position)
        case 2: bytes.insert(UInt8.random(in: 0...255, using: &random), at: position)
        case 3: bytes.removeSubrange(position...)
        default:
            let end = Int.random(in: position..<bytes.count, using: &random)
            bytes.insert(contentsOf: bytes[position..<end], at: position)
        }
    }
}
