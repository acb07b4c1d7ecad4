import Dispatch
import NIOCore
import NIOHTTP1
import Synchronization
import TestSupport
import Testing

@testable import HTTPClient

@Suite struct HTTPClientTests {
    private func run(
        _ client: HTTPClient, _ exchange: TestExchange, _ method: HTTPMethod = .PUT, to origin: HTTPOrigin,
        _ target: String, bodyLength: Int64 = 0, options: HTTPRequest.Options = .init()
    ) async throws {
        var request = HTTPRequest(method, origin, target: target, headers: [:], bodyLength: bodyLength)
        request.options = options
        client.call(request, exchange).start()
        try await until("its end") { exchange.seen.withLock { $0.end != nil } }
    }

    private func origin(_ port: Int, host: String = "127.0.0.1") -> HTTPOrigin {
        HTTPOrigin(isEncrypted: false, host: host, port: port)
    }

    @Test func `a peer that does not read has closed its window for as long as that lasts`() async throws {
        let size = 30_000_000
        let gate = DispatchSemaphore(value: 0)
        let server = try await RawServer { connection in
            _ = connection.readHead()
            gate.wait()
            let count = connection.read(size)
            connection.write("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
            return count
        }
        let client = HTTPClient(configuration: HTTPClientConfiguration())
        let exchange = TestExchange(size: size)
        let request = HTTPRequest(.PUT, origin(server.port), target: "/", headers: [:], bodyLength: Int64(size))
        client.call(request, exchange).start()
        // More than a second of measurements: the peer's host answers the probes of its window.
        try await until("a window that stays closed") {
            exchange.seen.withLock { $0.closedWindows.suffix(6) == [true, true, true, true, true, true] }
        }
        gate.signal()
        try await until("its end") { exchange.seen.withLock { $0.end != nil } }
        let seen = exchange.seen.withLock { ($0.status, $0.end?.error) }
        #expect(seen.0 == 201 && seen.1 == nil)
        await server.stop()
    }

    @Test func `a paused response holds the peer back, and goes on when it is resumed`() async throws {
        let server = try await RawServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n")
            var sent = 0
            while sent < 20_000_000 {
                guard connection.write([UInt8](repeating: 0x62, count: 100_000)) else { return sent }
                sent += 100_000
            }
            return sent
        }
        let client = HTTPClient(configuration: HTTPClientConfiguration())
        let isPaused = Atomic(true)
        let exchange = TestExchange { bytes in
            bytes > 1_000_000 && isPaused.load(ordering: .relaxed) ? .pause : .more
        }
        client.call(HTTPRequest(.GET, origin(server.port), target: "/", headers: [:]), exchange).start()
        try await until("the pause") { exchange.seen.withLock { $0.body > 1_000_000 } }
        try await until("a server that waits") { server.isBlockedInWrite }
        let atPause = exchange.seen.withLock { $0.body }
        #expect(atPause < 2_000_000, "\(atPause) bytes came")
        isPaused.store(false, ordering: .relaxed)
        let http = try #require(exchange.seen.withLock { $0.http })
        client.loop.execute { http.value.resumeReading() }
        try await until("its end") { exchange.seen.withLock { $0.end != nil } }
        let bytes = exchange.seen.withLock { $0.body }
        #expect(bytes == 20_000_000)
        await server.stop()
    }

    /// As a download does whose pace is lifted between two parts of one read. It never read on, and ended as stalled.
    @Test func `a part that came with a paused one ends the pause when the exchange takes it`() async throws {
        let gate = DispatchSemaphore(value: 0)
        let server = try await RawServer { connection in
            _ = connection.readHead()
            // Both chunks are in one read.
            connection.write(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n6\r\nsecond\r\n")
            gate.wait()
            connection.write("5\r\nthird\r\n0\r\n\r\n")
            return 0
        }
        let client = HTTPClient(configuration: HTTPClientConfiguration())
        let exchange = TestExchange { $0 == 5 ? .pause : .more }
        client.call(HTTPRequest(.GET, origin(server.port), target: "/", headers: [:]), exchange).start()
        try await until("both parts") { exchange.seen.withLock { $0.body == 11 } }
        gate.signal()
        try await until("its end") { exchange.seen.withLock { $0.end != nil } }
        let (bytes, error) = exchange.seen.withLock { ($0.body, $0.end?.error) }
        #expect(bytes == 16 && error == nil)
        await server.stop()
    }

    @Test func `interim responses reach the caller before the final one`() async throws {
        let server = try await RawServer { connection in
            _ = connection.readHead()
            connection.write(
                "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 104 Upload\r\nLocation: /u\r\n\r\n")
            connection.write("HTTP/1.1 204 No Content\r\n\r\n")
            return 0
        }
        let client = HTTPClient(configuration: HTTPClientConfiguration())
        let exchange = TestExchange()
        try await run(client, exchange, .GET, to: origin(server.port), "/")
        let seen = exchange.seen.withLock { ($0.interim, $0.status, $0.end?.error) }
        #expect(seen.0 == [103, 104] && seen.1 == 204 && seen.2 == nil)
        await server.stop()
    }

    @Test func `a body waits for 100 Continue, at most a second`() async throws {
        let server = try await RawServer { connection in
            let head = connection.readHead()
            #expect(head.contains("Expect: 100-continue"))
            if head.hasPrefix("PUT /asks") { connection.write("HTTP/1.1 100 Continue\r\n\r\n") }
            let body = connection.read(100_000)
            connection.write("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
            return body
        }
        let client = HTTPClient(configuration: HTTPClientConfiguration())
        var options = HTTPRequest.Options()
        options.expectsContinue = true
        for (path, range) in [("/asks", 0.0..<0.9), ("/silent", 0.9..<20)] {
            let exchange = TestExchange(size: 100_000)
            let began = NIODeadline.now()
            try await run(
                client, exchange, to: origin(server.port), path, bodyLength: 100_000, options: options)
            let (status, bodyBegan) = exchange.seen.withLock { ($0.status, $0.bodyBegan) }
            #expect(status == 201)
            let waited = Double((try #require(bodyBegan) - began).nanoseconds) / 1e9
            #expect(range.contains(waited), "\(path): \(waited) s")
        }
        await server.stop()
    }

    @Test func `a body that is refused before it was sent is never sent`() async throws {
        let server = try await RawServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
            return connection.read(1)
        }
        let client = HTTPClient(configuration: HTTPClientConfiguration())
        var options = HTTPRequest.Options()
        options.expectsContinue = true
        let exchange = TestExchange(size: 100_000)
        try await run(client, exchange, to: origin(server.port), "/", bodyLength: 100_000, options: options)
        let (status, bodyBegan) = exchange.seen.withLock { ($0.status, $0.bodyBegan) }
        #expect(status == 413 && bodyBegan == nil)
        await server.stop()
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func `an address that is not permitted is never connected to`(_ host: String) async throws {
        let server = try await RawServer { _ in 0 }
        var configuration = HTTPClientConfiguration()
        configuration.addressObjection = { host, address in
            IPNetwork(address)?.isPublic == true ? nil : "\(host) is not public"
        }
        let exchange = TestExchange()
        try await run(
            HTTPClient(configuration: configuration), exchange, .GET, to: origin(server.port, host: host), "/")
        let error = exchange.seen.withLock { $0.end?.error }
        #expect(error == .notPermitted("\(host) is not public"))
        #expect(server.connections == 0)
        await server.stop()
    }

    @Test(arguments: [("timeout=1", true), ("timeout=60", false), ("max=5, timeout=0", true), ("timeout=x", false)])
    func `a kept connection is not used past the peer's own limit`(_ hint: String, _ expires: Bool) async throws {
        let server = try await RawServer { connection in
            while !connection.readHead().isEmpty {
                connection.write("HTTP/1.1 204 No Content\r\nKeep-Alive: \(hint)\r\n\r\n")
            }
            return 0
        }
        let client = HTTPClient(configuration: HTTPClientConfiguration())
        try await run(client, TestExchange(), .GET, to: origin(server.port), "/")
        // Well before the minute after which the client closes it anyway.
        if expires { try await until("its close", within: .seconds(20)) { server.openConnections == 0 } }
        try await run(client, TestExchange(), .GET, to: origin(server.port), "/")
        #expect(server.connections == (expires ? 2 : 1))
        await server.stop()
    }

    @Test func `a cancelled call resets its connection and ends once`() async throws {
        let server = try await RawServer { connection in
            _ = connection.readHead()
            return connection.read(1)
        }
        let client = HTTPClient(configuration: HTTPClientConfiguration())
        let exchange = TestExchange()
        let call = client.call(HTTPRequest(.GET, origin(server.port), target: "/", headers: [:]), exchange)
        call.start()
        try await until("the request") { exchange.seen.withLock { $0.http != nil } }
        call.cancel()
        call.cancel()
        try await until("its end") { exchange.seen.withLock { $0.end != nil } }
        let error = exchange.seen.withLock { $0.end?.error }
        #expect(error == .stopped)
        await server.stop()
    }

    @Test func `requests beyond the limit of connections wait`() async throws {
        let server = try await RawServer { connection in
            var count = 0
            while !connection.readHead().isEmpty {
                connection.write("HTTP/1.1 204 No Content\r\n\r\n")
                count += 1
            }
            return count
        }
        var configuration = HTTPClientConfiguration()
        configuration.connectionsPerOrigin = 2
        let client = HTTPClient(configuration: configuration)
        let exchanges = (0..<20).map { _ in TestExchange() }
        for exchange in exchanges {
            client.call(HTTPRequest(.GET, origin(server.port), target: "/", headers: [:]), exchange).start()
        }
        try await until("all ends") { exchanges.allSatisfy { $0.seen.withLock { $0.end != nil } } }
        let areFine = exchanges.allSatisfy { $0.seen.withLock { $0.status == 204 && $0.end?.error == nil } }
        #expect(areFine)
        #expect(server.connections == 2)
        await server.stop()
    }
}
