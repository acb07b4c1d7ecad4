import Commands
import Foundation
import Operations
import TestSupport
import Testing

/// Uploads keep to their pace and count acknowledged bytes.
@Suite struct UploadPaceTests {
    @Test func `an upload keeps to its pace, pauses at 0, and continues when the pace is lifted`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.hollowFile(8 << 20)
            let (execution, meter) = try harness.execution(file: file, to: "\(receiver.origin)/a")
            execution.pace.set(200_000)
            let began = ContinuousClock.now
            let task = Task { try await harness.run(execution) }
            try await until("200 kB") { (receiver.requests.first?.bytes ?? 0) >= 200_000 }
            let took = (ContinuousClock.now - began).seconds
            #expect(took >= 0.8, "200 kB at 200 kB/s took \(took) s")
            #expect(meter.reading.waited)

            execution.pace.set(0)
            // Bytes in flight still arrive: a portion, and the buffer of the channel. Meanwhile another upload at the
            // previous pace moves twice as many bytes as would show a missing pause.
            let atPause = receiver.requests.first?.bytes ?? 0
            let (other, _) = try harness.execution(file: file, to: "\(receiver.origin)/b")
            other.pace.set(200_000)
            let beside = Task { try await harness.run(other) }
            try await until("100 kB beside it") {
                receiver.requests.count == 2 && receiver.requests[1].bytes >= 100_000
            }
            beside.cancel()
            await #expect(throws: CancellationError.self) { try await beside.value }
            let paused = receiver.requests.first?.bytes ?? 0
            #expect(paused <= atPause + (32 << 10), "\(paused - atPause) bytes came while it was paused")

            execution.pace.set(nil)
            _ = try await task.value
            #expect(receiver.requests.first?.bytes == 8 << 20)
            #expect(meter.reading.bytes == 8 << 20)
        }
    }

    @Test func `a wait for a slow pace is reported at every measurement`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.hollowFile(1 << 20)
            let (execution, meter) = try harness.execution(file: file, to: "\(receiver.origin)/a")
            // The next portion is sent after eight seconds.
            execution.pace.set(500)
            let task = Task { try await harness.run(execution) }
            try await until("the wait") { meter.reading.waited }
            for _ in 1...3 {
                _ = meter.take()
                try await until("the next look", within: .seconds(4)) { meter.reading.waited }
            }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func `the wait for the first byte of a response is measured`() async throws {
        try await withReceiver { receiver, harness in
            receiver.on("/a", .hang(.body))
            let file = try harness.directory.file("a", sample(1000))
            let (execution, meter) = try harness.execution(file: file, to: "\(receiver.origin)/a")
            let task = Task { try await harness.run(execution) }
            try await until("half a second of waiting") {
                meter.reading.connection.firstByte ?? .zero > .milliseconds(500)
            }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func `a pause is not a stall`() async throws {
        try await withReceiver(idleTimeout: .milliseconds(200)) { receiver, harness in
            let file = try harness.hollowFile(1 << 20)
            let (execution, _) = try harness.execution(file: file, to: "\(receiver.origin)/a")
            execution.pace.set(100_000)
            let task = Task { try await harness.run(execution) }
            try await until("the request") { !receiver.requests.isEmpty }
            execution.pace.set(0)
            // Three other uploads stall, one after the other, while this one is paused.
            receiver.on("/stalls", .hang(.head))
            let large = try harness.hollowFile(20_000_000, name: "large")
            for _ in 1...3 {
                let failure = try await harness.failure(file: large, to: "\(receiver.origin)/stalls")
                #expect(failure.reason.contains("stalled"))
            }
            execution.pace.set(nil)
            _ = try await task.value
            #expect(receiver.requests(to: "/a").count == 1)
        }
    }

    @Test func `progress counts acknowledged bytes, not bytes in the socket`() async throws {
        var options = MisbehavingReceiver.Options()
        options.receiveBuffer = 16 << 10
        try await withReceiver(options) { receiver, harness in
            receiver.on("/a", .slow(bytesPerSecond: 400_000))
            let file = try harness.hollowFile(64 << 20)
            let (execution, meter) = try harness.execution(file: file, to: "\(receiver.origin)/a")
            let task = Task { try await harness.run(execution) }
            try await until("300 kB counted") { meter.reading.bytes > 300_000 }
            let counted = meter.reading
            let came = Int64(receiver.requests.first?.bytes ?? 0)
            // The peer's kernel holds some bytes that its program has not read. This host's kernel would hold 256 KiB
            // more.
            #expect(counted.bytes <= came + (192 << 10), "\(counted.bytes) counted, \(came) came")
            #expect(counted.offset == counted.bytes)
            let roundTrip = try #require(counted.connection.roundTrip)
            #expect(try #require(counted.connection.minRoundTrip) <= roundTrip)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }
}
