package import Commands
package import Host

extension Dispatcher {
    /// Sets which rate limits exist, see ``RateLimits/set(_:saved:wallTime:now:)``.
    package mutating func setRateLimits(
        _ definitions: [RateLimits.Name: RateLimit], saved: [RateLimits.Name: TokenBucketState] = [:],
        wallTime: Timestamp, now: MonotonicTime
    ) {
        rates.set(definitions, saved: saved, wallTime: wallTime, now: now)
        queue.wakeAll()
    }

    /// The states of rate limits to save now.
    package mutating func rateLimitsToSave(wallTime: Timestamp, now: MonotonicTime) -> [RateLimits.SavedState] {
        let queue = queue
        return rates.statesToSave(
            waiting: { name in
                switch name {
                case .limit(let limit): queue.count(ofLimit: limit)
                case .destination(let destination): queue.waiting(for: destination).values.reduce(0, +)
                }
            }, wallTime: wallTime, now: now)
    }
}
