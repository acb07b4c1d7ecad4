internal import Host

/// Which warnings of a round that repeats every second are worth a log line: each once a minute. Pure.
struct RecentWarnings {
    private var loggedAt: [String: MonotonicTime] = [:]

    static let interval: Duration = .seconds(60)

    mutating func isNew(_ message: String, now: MonotonicTime) -> Bool {
        loggedAt = loggedAt.filter { now - $0.value < Self.interval }
        guard loggedAt[message] == nil else { return false }
        loggedAt[message] = now
        return true
    }
}
