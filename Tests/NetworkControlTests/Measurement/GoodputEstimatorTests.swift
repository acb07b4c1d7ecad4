import Testing

@testable import NetworkControl

@Suite struct GoodputEstimatorTests {
    /// Feeds seconds of a rate.
    private func feed(_ estimator: inout GoodputEstimator, _ seconds: Int, _ one: LinkInterval, from: Int64 = 0) {
        for step in 0..<Int64(seconds * 4) { estimator.add(one, now: from * second + step * quarter) }
    }

    @Test func `is exact from the first tick on`() {
        var estimator = GoodputEstimator()
        #expect(estimator.estimate == nil)
        estimator.add(tick(1_000_000), now: 0)
        #expect(abs((estimator.estimate ?? 0) - 1_000_000) < 1)
    }

    @Test func `goes down faster than up`() {
        var estimator = GoodputEstimator()
        feed(&estimator, 30, tick(1_000_000))
        var down = estimator
        // Inside the band, so no change of the link.
        feed(&down, 2, tick(850_000), from: 30)
        #expect((900_000...940_000).contains(down.estimate ?? 0), "half of the way after the half-life of 2 s")
        feed(&estimator, 2, tick(1_150_000), from: 30)
        #expect((1_010_000...1_030_000).contains(estimator.estimate ?? 0), "an eighth, by the half-life of 10 s")
    }

    @Test func `a second outside the band is a change that it takes over`() {
        var estimator = GoodputEstimator()
        feed(&estimator, 30, tick(12_500_000))
        feed(&estimator, 1, tick(250_000), from: 30)
        #expect(abs((estimator.estimate ?? 0) - 250_000) < 1000)
        feed(&estimator, 1, tick(12_500_000), from: 31)
        #expect(abs((estimator.estimate ?? 0) - 12_500_000) < 1000)
    }

    @Test func `what it carried is worth less each minute, and nothing after ten`() {
        var estimator = GoodputEstimator()
        feed(&estimator, 10, tick(1_000_000))
        #expect(abs((estimator.reference(now: 500 * second) ?? 0) - 600_000) < 1)
        for minutes in [11, 21, 1000] as [Int64] {
            #expect(estimator.reference(now: minutes * 60 * second) == nil)
            #expect(estimator.expected(flows: 4, now: minutes * 60 * second) == nil)
            #expect(estimator.referenceFlows(now: minutes * 60 * second) == 1)
        }
    }

    @Test func `ticks in which nothing flowed say nothing`() {
        var estimator = GoodputEstimator()
        feed(&estimator, 10, tick(1_000_000))
        feed(&estimator, 10, tick(1000, flowing: 0), from: 10)
        #expect(abs((estimator.estimate ?? 0) - 1_000_000) < 1)
    }

    @Test func `the reference is the most of ten minutes and loses five percent a minute`() {
        var estimator = GoodputEstimator()
        feed(&estimator, 10, tick(1_000_000))
        #expect(estimator.reference(now: 10 * second) == 1_000_000)
        feed(&estimator, 10, tick(200_000), from: 10)
        #expect(estimator.reference(now: 20 * second) == 1_000_000)
        #expect(abs((estimator.reference(now: 300 * second) ?? 0) - 750_000) < 1)
        feed(&estimator, 10, tick(200_000), from: 660)
        #expect(estimator.reference(now: 670 * second) == 200_000)
    }

    @Test func `fewer transfers than the reference took are expected to carry less`() {
        var estimator = GoodputEstimator()
        feed(&estimator, 10, tick(10_000_000, transfers: 10))
        #expect(abs((estimator.expected(flows: 1, now: 10 * second) ?? 0) - 1_000_000) < 1)
        #expect(abs((estimator.expected(flows: 20, now: 10 * second) ?? 0) - 10_000_000) < 1)
        // Two carry as much: so two are enough.
        feed(&estimator, 10, tick(9_800_000, transfers: 2), from: 10)
        #expect(abs((estimator.expected(flows: 2, now: 20 * second) ?? 0) - 10_000_000) < 1)
    }

    @Test func `the queue is what the round trip has grown by`() {
        var estimator = GoodputEstimator()
        let full = tick(1_000_000, srtt: 0.15)
        estimator.add(full, now: 0)
        #expect(abs((estimator.queueDelay(full) ?? 0) - 0.1) < 1e-9)
        #expect(estimator.queueDelay(tick(1, srtt: nil)) == nil)
    }

    @Test func `a restored reference counts before anything is measured`() {
        var estimator = GoodputEstimator()
        estimator.restore(reference: 5_000_000, flows: 4, now: 0)
        #expect(estimator.estimate == nil)
        #expect(estimator.expected(flows: 4, now: second) == 5_000_000)
    }
}
