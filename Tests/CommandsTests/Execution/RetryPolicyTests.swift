import Commands
import Testing

struct RetryPolicyTests {
    @Test(arguments: [(0, 5.0), (1, 15), (2, 45), (3, 135), (4, 405), (5, 1215)])
    func `the delay is 5 s × 3ⁿ ± 25 %`(retries: Int, seconds: Double) {
        let policy = RetryPolicy()
        #expect(policy.delay(retries: retries, retryAfter: nil, chance: 0.5) == .milliseconds(Int64(seconds * 1000)))
        for step in 0..<100 {
            let delay = policy.delay(retries: retries, retryAfter: nil, chance: Double(step) / 100)
            #expect((seconds * 0.75 - 0.001...seconds * 1.25).contains(delay.seconds))
        }
    }

    @Test(arguments: [6, 7, 32, 33, 1000, Int.max])
    func `the delay without Retry-After is at most an hour`(retries: Int) {
        for chance in [0, 0.25, 0.5, 0.75, 0.999_999] {
            let delay = RetryPolicy().delay(retries: retries, retryAfter: nil, chance: chance)
            #expect((2700...3600).contains(delay.seconds))
        }
    }

    @Test func `Retry-After is the minimum delay, also above an hour`() {
        let policy = RetryPolicy()
        #expect(policy.delay(retries: 0, retryAfter: .seconds(1), chance: 0.5) == .seconds(5))
        #expect(policy.delay(retries: 0, retryAfter: .seconds(60), chance: 0.5) == .seconds(60))
        #expect(policy.delay(retries: 9, retryAfter: .seconds(7200), chance: 0) == .seconds(7200))
    }

    @Test func `a negative number of retries counts as none`() {
        #expect(RetryPolicy().delay(retries: .min, retryAfter: nil, chance: 0.5) == .seconds(5))
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300, -1e300])
    func `a policy of any values has a delay`(value: Double) {
        var policy = RetryPolicy()
        (policy.factor, policy.jitter, policy.maxDelay) = (value, value, .seconds(Int64.max))
        for retries in [0, 1, 40] {
            #expect(policy.delay(retries: retries, retryAfter: nil, chance: 0.1) >= .zero)
        }
    }
}
