import NIOCore
import Testing

@testable import HTTPClient

@Suite struct ScavengerWindowTests {
    /// A link whose round trip grows with the bytes in flight.
    private func settle(_ window: inout ScavengerWindow, rate: Double, flows: Int, ticks: Int) -> Duration {
        var queue = Duration.zero
        for _ in 0..<ticks {
            let underWay = Double((window.bytes ?? 300_000) * flows)
            let room = rate * 0.05
            queue = .seconds(max(underWay - room, 0) / rate)
            _ = window.update(
                roundTrip: .milliseconds(50) + queue, minRoundTrip: .milliseconds(50),
                unacknowledged: Int64(underWay) / Int64(flows))
        }
        return queue
    }

    @Test(arguments: [ScavengerWindow.target, ScavengerWindow.downloadTarget])
    func `the queue of a slow link is near the target within two seconds`(_ target: Duration) {
        var window = ScavengerWindow(target: target)
        let queue = settle(&window, rate: 250_000, flows: 1, ticks: 8)
        #expect(queue <= target * 2, "\(queue)")
        #expect(queue > .zero, "the link is full")
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
            let changed = window.update(
                roundTrip: .milliseconds(110), minRoundTrip: .milliseconds(60), unacknowledged: 150_000)
            #expect(!changed)
        }
        let changed = window.update(roundTrip: nil, minRoundTrip: nil, unacknowledged: 0)
        #expect(!changed && window.bytes == nil)
    }

    @Test func `the minimum round trip is remembered by address and forgotten within ten minutes`() throws {
        var roundTrips = MinimumRoundTrips()
        let (a, b) = (
            try SocketAddress(ipAddress: "10.0.0.1", port: 1), try SocketAddress(ipAddress: "10.0.0.2", port: 1)
        )
        let start = NIODeadline.uptimeNanoseconds(1)
        #expect(roundTrips.add(nil, to: a, now: start) == nil, "nothing is known")
        #expect(roundTrips.add(.milliseconds(50), to: a, now: start) == .milliseconds(50))
        #expect(
            roundTrips.add(.milliseconds(600), to: a, now: start + .seconds(1)) == .milliseconds(50),
            "it began behind a full queue")
        #expect(roundTrips.add(.milliseconds(70), to: b, now: start) == .milliseconds(70))
        #expect(roundTrips.add(.milliseconds(200), to: a, now: start + .minutes(6)) == .milliseconds(50))
        #expect(
            roundTrips.add(.milliseconds(200), to: a, now: start + .minutes(12)) == .milliseconds(200),
            "the route has changed")
    }

    @Test(arguments: [5, 50, 400]) func `a queue that is cut short is not emptied`(milliseconds: Int) throws {
        var window = ScavengerWindow()
        let minimum = Duration.milliseconds(milliseconds)
        let roundTrip = minimum + ScavengerWindow.target + .milliseconds(1)
        let changed = window.update(roundTrip: roundTrip, minRoundTrip: minimum, unacknowledged: 100_000)
        let bytes = try #require(window.bytes)
        #expect(changed && bytes < 100_000)
        #expect(roundTrip * (Double(bytes) / 100_000) > minimum, "as long as the least round trip, the link is full")
    }

    @Test func `the window grows back after a spike on a path with jitter`() {
        var window = ScavengerWindow()
        for _ in 0..<6 {
            _ = window.update(roundTrip: .milliseconds(100), minRoundTrip: .milliseconds(20), unacknowledged: 50_000)
        }
        #expect((window.bytes ?? 0) < 10_000)
        for _ in 0..<240 {
            _ = window.update(roundTrip: .milliseconds(45), minRoundTrip: .milliseconds(20), unacknowledged: 9_000)
        }
        #expect(window.bytes == ScavengerWindow.maxBytes)
    }

    @Test func `the window never falls below its minimum`() {
        var window = ScavengerWindow()
        for _ in 0..<100 {
            _ = window.update(roundTrip: .seconds(5), minRoundTrip: .milliseconds(50), unacknowledged: 9_000)
        }
        #expect(window.bytes == ScavengerWindow.minBytes)
    }
}
