import Commands
import HTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import Operations
import Synchronization
import TestSupport
import Testing

@testable import Transfers

/// Bodies of responses that are read while they arrive.
@Suite struct ResponseReadingTests {
    private struct Stop: Error {}

    /// Sends a GET whose answer is read.
    private func get(
        _ script: String, pace: Pace = Pace(), meter: TransferMeter = TransferMeter(),
        _ reader: @escaping ResponseReader
    ) async throws -> (record: HTTPRecord, connections: Int) {
        let server = try await ScriptedServer()
        let transport = HTTPTransport(configuration: HTTPConfiguration())
        var record = HTTPRecord()
        var connections = 0
        try await stopping(server) {
            try server.run(script + "\n* * : answer 200")
            let url = try ResourceURL("\(server.origin)/a")
            let command = Command(id: CommandID(), type: "request", destination: url.destination, createdAt: .now)
            let execution = CommandExecution(command: command, payload: [], meter: meter, pace: pace)
            var parts = RequestSender.Parts(.GET, url)
            parts.reader = reader
            record = await transport.send(parts, HTTPHeaders(), RequestOptions(), for: execution)
            // Shows whether the connection was kept.
            let next = RequestSender.Parts(.GET, try ResourceURL("\(server.origin)/next"))
            _ = await transport.send(next, HTTPHeaders(), RequestOptions(), for: execution)
            connections = Set(server.requests.map(\.connection)).count
        }
        return (record, connections)
    }

    private static func count(_ chunks: [ByteBuffer]) -> Int { chunks.reduce(0) { $0 + $1.readableBytes } }

    @Test(arguments: ["body 20M", "body 0", "body 20M chunked"])
    func `a reader gets the whole body, which counts for the way down`(_ body: String) async throws {
        let received = Mutex(0)
        let meter = TransferMeter()
        let (record, connections) = try await get("GET /a : answer 200 \(body)", meter: meter) { head, body in
            #expect(head.status == .ok)
            while let chunks = try await body.next() { received.withLock { $0 += Self.count(chunks) } }
        }
        #expect(record.isComplete && record.error == nil && connections == 1, "\(String(describing: record.error))")
        let expected = body == "body 0" ? 0 : 20 << 20
        #expect(received.withLock { $0 } == expected && record.body.readableBytes == 0)
        #expect(meter.reading.bytes == Int64(expected))
        if expected > 0 { #expect(meter.reading.direction == .down) }
    }

    @Test func `a reader that is busy makes the connection wait`() async throws {
        let meter = TransferMeter()
        let largest = Mutex(0)
        _ = try await get("GET /a : answer 200 body 50M", meter: meter) { _, body in
            var taken: Int64 = 0
            while taken < 4 << 20, let chunks = try await body.next() {
                taken += Int64(Self.count(chunks))
                largest.withLock { $0 = max($0, Self.count(chunks)) }
                // The next bytes are taken once the limit has been reached.
                let wanted = taken + Int64(ResponseBody.limit)
                try await until("bytes that wait") { meter.reading.bytes >= wanted }
            }
        }
        let limit = ResponseBody.limit
        #expect((limit...(limit + 1 << 20)).contains(largest.withLock { $0 }))
    }

    @Test func `a reader that returns early ends the request without an error`() async throws {
        let (record, connections) = try await get("GET /a : answer 200 body 50M") { _, body in _ = try await body.next()
        }
        #expect(record.error == nil && !record.isComplete && record.status == 200)
        #expect(connections == 2, "the rest of the body is not read")
    }

    @Test func `the error of a reader is that of the request`() async throws {
        let (record, _) = try await get("GET /a : answer 200 body 50M") { _, body in
            _ = try await body.next()
            throw Stop()
        }
        #expect(record.error is Stop, "\(String(describing: record.error))")
    }

    @Test(arguments: ["close", "reset"]) func `a body that is cut off ends its reader with the error of the connection`(
        _ end: String
    ) async throws {
        let received = Mutex(0)
        let (record, _) = try await get("GET /a : answer 200 body 1M length 2097152; \(end)") { _, body in
            while let chunks = try await body.next() { received.withLock { $0 += Self.count(chunks) } }
        }
        #expect(record.error is HTTPError && !record.isComplete && record.status == 200)
        #expect(received.withLock { $0 } <= 1 << 20)
    }

    @Test func `the body of a refusal is not read but stored`() async throws {
        let (record, _) = try await get("GET /a : answer 404 body \"no\"") { _, _ in Issue.record("called") }
        #expect(record.status == 404 && record.body.readableBytes == 2)
    }

    @Test func `a body is read no faster than its pace, and goes on when that changes`() async throws {
        let pace = Pace(bytesPerSecond: 400_000)
        let start = ContinuousClock.now
        let halfway = Mutex<ContinuousClock.Instant?>(nil)
        let (record, _) = try await get("GET /a : answer 200 body 20M", pace: pace) { _, body in
            var taken = 0
            while let chunks = try await body.next() {
                taken += Self.count(chunks)
                guard taken >= 400_000, halfway.withLock({ $0 }) == nil else { continue }
                halfway.withLock { $0 = .now }
                pace.set(nil)
            }
        }
        #expect(record.isComplete)
        let paced = try #require(halfway.withLock { $0 }) - start
        // The bucket lets 50 ms of the pace, and what the socket has already received, go at once. Without a pace
        // these bytes take a few milliseconds.
        #expect(paced > .milliseconds(250), "\(paced)")
    }

    @Test func `a cancelled request ends its reader`() async throws {
        let isReading = Mutex(false)
        let work = Task {
            try await get("GET /a : answer 200 body 1k length 2048; hang") { _, body in
                isReading.withLock { $0 = true }
                while try await body.next() != nil {}
            }
        }
        try await until("the reader") { isReading.withLock { $0 } }
        work.cancel()
        let record = try await work.value.record
        #expect(record.error is CancellationError, "\(String(describing: record.error))")
    }

    @Test(arguments: [true, false]) func `a reader is released before its response has ended`(isStarted: Bool)
        async throws
    {
        final class Held: Sendable {}
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        for _ in 0..<100 {
            var held: Held? = Held()
            weak let seen = held
            // An exchange that has ended refers to it for a moment.
            let reading = ResponseReading(loop: loop) { [held] _, _ in withExtendedLifetime(held) {} }
            held = nil
            #expect(seen != nil)
            if isStarted {
                try await loop.submit { reading.start(HTTPResponseHead(version: .http1_1, status: .ok)) {} }.get()
            }
            _ = await reading.ended()
            #expect(seen == nil)
            withExtendedLifetime(reading) {}
        }
    }
}
