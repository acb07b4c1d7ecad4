import Testing

@testable import Webhook

@Suite struct WebhookRetryTableTests {
    @Test(arguments: [
        (0, 5), (1, 5 * 60), (2, 30 * 60), (3, 2 * 3600), (4, 5 * 3600), (5, 10 * 3600), (6, 14 * 3600), (7, 20 * 3600),
        (8, 24 * 3600),
    ])
    func `each charged failure has its wait of ± 25 %`(_ retries: Int, _ seconds: Int) throws {
        func wait(_ chance: Double) -> Duration? {
            WebhookRetryTable.delay(retries: retries, retryAfter: nil, chance: chance)
        }
        #expect(wait(0.5) == .seconds(seconds))
        #expect(wait(0) == .milliseconds(seconds * 750))
        #expect(wait(1) == .milliseconds(seconds * 1250))
        #expect(wait(7) == wait(1) && wait(-7) == wait(0) && wait(.nan) == wait(0) && wait(.infinity) == wait(1))
    }

    @Test func `ten attempts take 75.6 hours`() {
        #expect(WebhookRetryTable.retryLimit == 9)
        let total = WebhookRetryTable.delays.reduce(Duration.zero, +)
        #expect(total == .seconds(272_105))
        #expect(abs(Double(total.components.seconds) / 3600 - 75.6) < 0.05)
    }

    @Test func `after the last attempt there is no wait`() {
        for retries in [9, 10, 1000, Int.max] {
            #expect(WebhookRetryTable.delay(retries: retries, retryAfter: .seconds(1), chance: 0.5) == nil)
        }
        #expect(WebhookRetryTable.delay(retries: -1, retryAfter: nil, chance: 0.5) == .seconds(5))
    }

    @Test func `Retry-After is a lower bound`() {
        #expect(WebhookRetryTable.delay(retries: 0, retryAfter: .seconds(60), chance: 0.5) == .seconds(60))
        #expect(WebhookRetryTable.delay(retries: 3, retryAfter: .seconds(60), chance: 0.5) == .seconds(7200))
    }
}
