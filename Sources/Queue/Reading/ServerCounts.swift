internal import Commands
internal import Membership
internal import Store

/// Counts of the work of this process on the server of its store, since it opened the store.
package struct ServerCounts: Sendable, Equatable {
    /// Upper bounds of ``commitCounts`` in seconds, ascending.
    package var commitBounds: [Double] = []
    /// Transactions by their time; the last count is of those beyond all bounds.
    package var commitCounts: [Int] = [0]
    /// Seconds of all transactions.
    package var commitTime = 0.0
    /// Requests that waited for an answer.
    package var roundTrips = 0
    /// Commits with effects on other commands, for which rows were read in advance.
    package var relationLoads = 0
    /// Those that needed further rows.
    package var relationMisses = 0
    /// Transactions that were made again, after a conflict or a wait for a lock.
    package var repeats = 0
    package var lostConnections = 0

    package init() {}
}

extension QueueAccess {
    /// Nil for a store without a server.
    package var serverCounts: ServerCounts? {
        guard let statistics = opened.health.statistics else { return nil }
        var counts = ServerCounts()
        counts.commitBounds = type(of: statistics).commitBounds.map(\.seconds)
        counts.commitCounts = statistics.commitCounts
        counts.commitTime = statistics.commitTime.seconds
        counts.roundTrips = statistics.roundTrips
        counts.relationLoads = statistics.relationLoads
        counts.relationMisses = statistics.relationMisses
        counts.repeats = statistics.repeats
        counts.lostConnections = statistics.lostConnections
        return counts
    }

    /// Seconds for which the oldest transaction of other sessions has been open on the server of the store; 0 where none is,
    /// and nil for a store without a server.
    package func oldestTransactionAge() throws -> Double? {
        guard opened.health.statistics != nil else { return nil }
        return try opened.health.oldestTransaction()?.seconds ?? 0
    }
}
