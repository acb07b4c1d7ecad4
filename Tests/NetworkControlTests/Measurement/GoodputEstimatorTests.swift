import Host
import Testing

@testable import NetworkControl

@Suite struct GoodputEstimatorTests {
    /// Feeds an interval repeatedly for some seconds.
    private func feed(_ estimator: inout GoodputEstimator, _ seconds: Int, _ one: LinkInterval, from: Double = 0) {
        for step in 0..<seconds * 4 { estimator.add(one, now: at(from + Double(step) / 4)) }
    }

    @Test func `the estimate is exact from the first interval on`() {
        var estimator = GoodputEstimator()
        #expect(estimator.estimate == nil)
        estimator.add(interval(1_000_000), now: at(0))
        #expect(abs((estimator.estimate ?? 0) - 1_000_000) < 1)
    }

    @Test func `the estimate falls faster than it rises`() {
        var estimator = GoodputEstimator()
        feed(&estimator, 30, interval(1_000_000))
        var down = estimator
        // The rate is inside the band, so this is not a change of the link.
        feed(&down, 2, interval(850_000), from: 30)
        #expect((900_000...940_000).contains(down.estimate ?? 0), "half of the way after the half-life of 2 s")
        feed(&estimator, 2, interval(1_150_000), from: 30)
        #expect((1_010_000...1_030_000).contains(estimator.estimate ?? 0), "an eighth, by the half-life of 10 s")
    }

    @Test func `the estimate takes over a rate that is outside the band for a second`() {
        var estimator = GoodputEstimator()
        feed(&estimator, 30, interval(12_500_000))
        feed(&estimator, 1, interval(250_000), from: 30)
        #expect(abs((estimator.estimate ?? 0) - 250_000) < 1000)
        feed(&estimator, 1, interval(12_500_000), from: 31)
        #expect(abs((estimator.estimate ?? 0) - 12_500_000) < 1000)
    }

    @Test func `the reference loses five percent a minute, and is gone after ten minutes`() {
        var estimator = GoodputEstimator()
        feed(&estimator, 10, interval(1_000_000))
        #expect(abs((estimator.reference(now: at(500)) ?? 0) - 600_000) < 1)
        for minutes in [11.0, 21, 1000] {
            #expect(estimator.reference(now: at(60 * minutes)) == nil)
            #expect(estimator.expected(flows: 4, now: at(60 * minutes)) == nil)
            #expect(estimator.referenceFlows(now: at(60 * minutes)) == 1)
        }
    }

    @Test func `intervals in which nothing flowed do not count`() {
        var estimator = GoodputEstimator()
        feed(&estimator, 10, interval(1_000_000))
        feed(&estimator, 10, interval(1000, flowing: 0), from: 10)
        #expect(abs((estimator.estimate ?? 0) - 1_000_000) < 1)
    }

    @Test func `the reference is the maximum of ten minutes, less five percent a minute`() {
        var estimator = GoodputEstimator()
        feed(&estimator, 10, interval(1_000_000))
        #expect(estimator.reference(now: at(10)) == 1_000_000)
        feed(&estimator, 10, interval(200_000), from: 10)
        #expect(estimator.reference(now: at(20)) == 1_000_000)
        #expect(abs((estimator.reference(now: at(300)) ?? 0) - 750_000) < 1)
        feed(&estimator, 10, interval(200_000), from: 660)
        #expect(estimator.reference(now: at(670)) == 200_000)
    }

    @Test func `fewer transfers than those of the reference are expected to carry less`() {
        var estimator = GoodputEstimator()
        feed(&estimator, 10, interval(10_000_000, transfers: 10))
        #expect(abs((estimator.expected(flows: 1, now: at(10)) ?? 0) - 1_000_000) < 1)
        #expect(abs((estimator.expected(flows: 20, now: at(10)) ?? 0) - 10_000_000) < 1)
        // Two transfers carry as much: two are enough.
        feed(&estimator, 10, interval(9_800_000, transfers: 2), from: 10)
        #expect(abs((estimator.expected(flows: 2, now: at(20)) ?? 0) - 10_000_000) < 1)
    }

    @Test func `the queue delay is the growth of the round trip`() {
        var estimator = GoodputEstimator()
        let full = interval(1_000_000, srtt: .milliseconds(150))
        estimator.add(full, now: at(0))
        #expect(estimator.queueDelay(full) == .milliseconds(100))
        #expect(estimator.queueDelay(interval(1, srtt: nil)) == nil)
    }

    @Test func `a restored reference counts before anything is measured`() {
        var estimator = GoodputEstimator()
        estimator.restore(reference: 5_000_000, flows: 4, now: at(0))
        #expect(estimator.estimate == nil)
        #expect(estimator.expected(flows: 4, now: at(1)) == 5_000_000)
    }
}
