import Host
import Testing

@testable import NetworkControl

@Suite struct GoodputEstimatorTests {
    /// Feeds seconds of a rate.
    private func feed(_ estimator: inout GoodputEstimator, _ seconds: Int, _ one: LinkInterval, from: Double = 0) {
        for step in 0..<seconds * 4 { estimator.add(one, now: at(from + Double(step) / 4)) }
    }

    @Test func `is exact from the first tick on`() {
        var estimator = GoodputEstimator()
        #expect(estimator.estimate == nil)
        estimator.add(tick(1_000_000), now: at(0))
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
        #expect(abs((estimator.reference(now: at(500)) ?? 0) - 600_000) < 1)
        for minutes in [11.0, 21, 1000] {
            #expect(estimator.reference(now: at(60 * minutes)) == nil)
            #expect(estimator.expected(flows: 4, now: at(60 * minutes)) == nil)
            #expect(estimator.referenceFlows(now: at(60 * minutes)) == 1)
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
        #expect(estimator.reference(now: at(10)) == 1_000_000)
        feed(&estimator, 10, tick(200_000), from: 10)
        #expect(estimator.reference(now: at(20)) == 1_000_000)
        #expect(abs((estimator.reference(now: at(300)) ?? 0) - 750_000) < 1)
        feed(&estimator, 10, tick(200_000), from: 660)
        #expect(estimator.reference(now: at(670)) == 200_000)
    }

    @Test func `fewer transfers than the reference took are expected to carry less`() {
        var estimator = GoodputEstimator()
        feed(&estimator, 10, tick(10_000_000, transfers: 10))
        #expect(abs((estimator.expected(flows: 1, now: at(10)) ?? 0) - 1_000_000) < 1)
        #expect(abs((estimator.expected(flows: 20, now: at(10)) ?? 0) - 10_000_000) < 1)
        // Two carry as much: so two are enough.
        feed(&estimator, 10, tick(9_800_000, transfers: 2), from: 10)
        #expect(abs((estimator.expected(flows: 2, now: at(20)) ?? 0) - 10_000_000) < 1)
    }

    @Test func `the queue is what the round trip has grown by`() {
        var estimator = GoodputEstimator()
        let full = tick(1_000_000, srtt: .milliseconds(150))
        estimator.add(full, now: at(0))
        #expect(estimator.queueDelay(full) == .milliseconds(100))
        #expect(estimator.queueDelay(tick(1, srtt: nil)) == nil)
    }

    @Test func `a restored reference counts before anything is measured`() {
        var estimator = GoodputEstimator()
        estimator.restore(reference: 5_000_000, flows: 4, now: at(0))
        #expect(estimator.estimate == nil)
        #expect(estimator.expected(flows: 4, now: at(1)) == 5_000_000)
    }
}
