import NIOCore
import Testing

@testable import HTTPClient

@Suite struct ScavengerWindowTests {
    /// A link whose round trip grows with the bytes in flight.
    private func settle(_ window: inout ScavengerWindow, rate: Double, flows: Int, ticks: Int) -> Int64 {
        var queue: Int64 = 0
        for _ in 0..<ticks {
            let underWay = Double((window.bytes ?? 300_000) * flows)
            let room = rate * 0.05
            queue = Int64(max(underWay - room, 0) / rate * 1e6)
            _ = window.update(
                roundTrip: 50_000 + queue, minRoundTrip: 50_000, unacknowledged: Int64(underWay) / Int64(flows))
        }
        return queue
    }

    @Test func `the queue of a slow link is near the target within two seconds`() {
        var window = ScavengerWindow()
        let queue = settle(&window, rate: 250_000, flows: 1, ticks: 8)
        #expect(queue <= 2 * ScavengerWindow.target, "\(queue)")
        #expect(queue > 0, "the link is full")
    }

    @Test func `the window grows within two seconds when the link is fast again`() {
        var window = ScavengerWindow()
        _ = settle(&window, rate: 250_000, flows: 4, ticks: 20)
        #expect((window.bytes ?? 0) < 20_000)
        _ = settle(&window, rate: 12_500_000, flows: 4, ticks: 8)
        #expect((window.bytes ?? 0) > 100_000)
    }

    @Test func `a link without a queue or a measurement is left to the kernel`() {
        var window = ScavengerWindow()
        for _ in 0..<100 {
            let changed = window.update(roundTrip: 110_000, minRoundTrip: 60_000, unacknowledged: 150_000)
            #expect(!changed)
        }
        let changed = window.update(roundTrip: 0, minRoundTrip: 0, unacknowledged: 0)
        #expect(!changed && window.bytes == nil)
    }

    @Test func `the minimum round trip is remembered by address and forgotten within ten minutes`() throws {
        var minBytes = MinimumRoundTrips()
        let (a, b) = (
            try SocketAddress(ipAddress: "10.0.0.1", port: 1), try SocketAddress(ipAddress: "10.0.0.2", port: 1)
        )
        let start = NIODeadline.uptimeNanoseconds(1)
        #expect(minBytes.add(0, to: a, now: start) == 0, "nothing is known")
        #expect(minBytes.add(50_000, to: a, now: start) == 50_000)
        #expect(minBytes.add(600_000, to: a, now: start + .seconds(1)) == 50_000, "it began behind a full queue")
        #expect(minBytes.add(70_000, to: b, now: start) == 70_000)
        #expect(minBytes.add(200_000, to: a, now: start + .minutes(6)) == 50_000)
        #expect(minBytes.add(200_000, to: a, now: start + .minutes(12)) == 200_000, "the route has changed")
    }

    @Test(arguments: [5_000, 50_000, 400_000]) func `a queue that is cut short is not emptied`(minBytes: Int64) throws {
        var window = ScavengerWindow()
        let roundTrip = minBytes + ScavengerWindow.target + 1000
        let changed = window.update(roundTrip: roundTrip, minRoundTrip: minBytes, unacknowledged: 100_000)
        let bytes = try #require(window.bytes)
        #expect(changed && bytes < 100_000)
        #expect(Int64(bytes) * roundTrip / 100_000 > minBytes, "as long as the least round trip, the link is full")
    }

    @Test func `the window grows back after a spike on a path with jitter`() {
        var window = ScavengerWindow()
        for _ in 0..<6 { _ = window.update(roundTrip: 100_000, minRoundTrip: 20_000, unacknowledged: 50_000) }
        #expect((window.bytes ?? 0) < 10_000)
        for _ in 0..<240 { _ = window.update(roundTrip: 45_000, minRoundTrip: 20_000, unacknowledged: 9_000) }
        #expect(window.bytes == ScavengerWindow.maxBytes)
    }

    @Test func `the window never falls below its minimum`() {
        var window = ScavengerWindow()
        for _ in 0..<100 { _ = window.update(roundTrip: 5_000_000, minRoundTrip: 50_000, unacknowledged: 9_000) }
        #expect(window.bytes == ScavengerWindow.minBytes)
    }
}
