internal import Commands

/// When a message is sent again (Standard Webhooks 1.0.0, “Deliverability and reliability”): 10 attempts
/// within 75.6 hours. ``RetryPolicy`` would give up after ten minutes, and receivers are mended within days.
enum WebhookRetryTable {
    /// The wait after the first, second, … charged failure.
    static let delays: [Duration] = [
        .seconds(5), .seconds(300), .seconds(1800), .seconds(2 * 3600), .seconds(5 * 3600), .seconds(10 * 3600),
        .seconds(14 * 3600), .seconds(20 * 3600), .seconds(24 * 3600),
    ]
    /// The share by which a wait is randomly made shorter or longer.
    static let jitter = 0.25
    /// The retry limit of a command: failures charged before it is given up.
    static var retryLimit: Int { delays.count }

    /// How long to wait before the next attempt.
    /// - Parameters:
    ///   - retries: failures charged before this one. A failure of the link is not charged.
    ///   - retryAfter: the minimum that the receiver asked for.
    ///   - chance: a number in 0..<1 that decides the jitter.
    /// - Returns: nil after the last attempt.
    static func delay(retries: Int, retryAfter: Duration?, chance: Double) -> Duration? {
        guard retries < delays.count else { return nil }
        // A number beyond 0…1, or NaN, must not trap below.
        let chance = chance >= 0 ? min(chance, 1) : 0
        let seconds = delays[max(retries, 0)].seconds * (1 + jitter * (2 * chance - 1))
        return max(.milliseconds(Int64(seconds * 1000)), retryAfter ?? .zero)
    }
}
