internal import Host

/// Counts of the work of a process on the server of a store, since it opened the store.
package struct StoreStatistics: Sendable, Equatable {
    /// Upper bounds of ``commitCounts``, ascending.
    package static let commitBounds: [Duration] = [
        .microseconds(500), .milliseconds(1), .microseconds(2500), .milliseconds(5), .milliseconds(10),
        .milliseconds(25), .milliseconds(50), .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1),
        .milliseconds(2500), .seconds(5), .seconds(10),
    ]

    /// Transactions that were committed, by the time from their first statement until the answer to `COMMIT`. The last count
    /// is of those beyond all bounds.
    package var commitCounts = [Int](repeating: 0, count: commitBounds.count + 1)
    package var commitTime: Duration = .zero
    /// Requests that waited for an answer, of reads too.
    package var roundTrips = 0
    /// Commits that read the rows of related commands in advance.
    package var relationLoads = 0
    /// Those of ``relationLoads`` that needed further rows, which cost round trips under the locks of the shards.
    package var relationMisses = 0
    /// Transactions that were made again, because the server had ended them in favour of others, or their wait for a lock.
    package var repeats = 0
    /// Connections that were lost, or closed because an answer was late.
    package var lostConnections = 0

    package init() {}

    package var commits: Int { commitCounts.reduce(0, +) }

    mutating func committed(since start: MonotonicTime) {
        let duration = MonotonicTime.now - start
        commitCounts[Self.commitBounds.firstIndex { duration <= $0 } ?? Self.commitBounds.count] += 1
        commitTime += duration
    }
}
