import Host
import Testing

@testable import Operations

@Suite struct TokenBucketTests {
    /// Bytes that go within a time, when asked every millisecond.
    private func sent(rate: Int64, milliseconds: Int64) -> Int {
        var bucket = ByteBucket()
        var sent = 0
        for millisecond in 0..<milliseconds {
            let available = bucket.available(rate: rate, now: .zero + .milliseconds(millisecond))
            guard available >= ByteBucket.portion else { continue }
            bucket.take(available)
            sent += available
        }
        return sent
    }

    @Test(arguments: [10_000, 32_000, 250_000, 12_500_000] as [Int64])
    func `lets its rate through, over ten seconds`(_ rate: Int64) {
        let bytes = Double(sent(rate: rate, milliseconds: 10_000))
        #expect(abs(bytes / (10 * Double(rate)) - 1) < 0.05, "\(bytes)")
    }

    @Test func `does not save up more than a twentieth of a second`() {
        var bucket = ByteBucket()
        _ = bucket.available(rate: 1_000_000, now: .zero)
        #expect(bucket.available(rate: 1_000_000, now: .zero + .seconds(60)) == 50_000)
    }

    @Test func `tells how long the next portion takes, and that nothing goes at a rate of 0`() throws {
        var bucket = ByteBucket()
        #expect(bucket.available(rate: 0, now: .zero) == 0)
        #expect(bucket.wait(for: 10, rate: 0) == nil)
        let wait = try #require(bucket.wait(for: 100_000, rate: 4096))
        #expect(wait > .seconds(1) - .microseconds(1) && wait < .seconds(1) + .microseconds(1))
        #expect(bucket.available(rate: 4096, now: .zero + wait) == ByteBucket.portion)
    }
}
