internal import Commands

/// The failed authentications of each client, and how long the next response to it is delayed. Pure.
///
/// A secret of 256 bits is not found by trials: the delay saves work and log lines. So it holds for failures only, and a
/// client with a correct token behind the same address does not wait.
struct FailureTable: Sendable {
    private struct Entry {
        var count: Int
        var last: Timestamp
        /// Responses that are delayed now.
        var waiting = 0
    }

    enum Verdict: Equatable, Sendable {
        /// Answer after this time, then call ``release(_:)``.
        case delay(Duration)
        /// Too many responses wait already: refuse at once.
        case refuse
    }

    /// Failures that cost no time: a person mistypes.
    static let freeCount = 3
    static let maxDelay: Duration = .seconds(5)
    /// The delayed responses of one client, each of which holds a connection.
    static let maxWaiting = 4
    static let maxWaitingInAll = 256
    static let maxCount = 4096
    /// The count is halved in each interval without a failure.
    static let halfLife: Duration = .seconds(60)

    private var entries: [String: Entry] = [:]
    private var waiting = 0

    /// The failures of a client that still count.
    func count(of client: String, now: Timestamp) -> Int {
        guard let entry = entries[client] else { return 0 }
        let halvings = max(now - entry.last, .zero) / Self.halfLife
        return halvings >= 62 ? 0 : entry.count >> Int(halvings)
    }

    mutating func add(_ client: String, now: Timestamp) -> (count: Int, verdict: Verdict) {
        let count = count(of: client, now: now) + 1
        if entries[client] == nil { makeRoom() }
        var entry = entries[client] ?? Entry(count: 0, last: now)
        entry.count = count
        entry.last = now
        let delay = Self.delay(count)
        let isRefused = delay > .zero && (entry.waiting >= Self.maxWaiting || waiting >= Self.maxWaitingInAll)
        if delay > .zero, !isRefused {
            entry.waiting += 1
            waiting += 1
        }
        entries[client] = entry
        return (count, isRefused ? .refuse : .delay(delay))
    }

    /// A delayed response goes out.
    mutating func release(_ client: String) {
        waiting -= 1
        entries[client]?.waiting -= 1
    }

    static func delay(_ count: Int) -> Duration {
        count <= freeCount ? .zero : min(.milliseconds(100) * (1 << min(count - freeCount - 1, 10)), maxDelay)
    }

    /// The client whose last failure is the oldest goes first. One with delayed responses stays: it is counted.
    private mutating func makeRoom() {
        guard entries.count >= Self.maxCount else { return }
        let oldest = entries.lazy.filter { $0.value.waiting == 0 }.min { $0.value.last < $1.value.last }
        if let oldest { entries[oldest.key] = nil }
    }
}
