package import Commands
internal import Glibc
internal import Host
internal import Membership
package import Store

/// Figures for a scrape, in a time that does not depend on the number of commands.
extension QueueAccess {
    /// Queues that are looked at in each shard. An installation with more has many commands waiting anyway.
    private static let maxKeys = 1000

    /// When the oldest command that may run came to its status, by quality of service.
    package func oldestReady() throws(StoreError) -> [QualityOfService: Timestamp] {
        var oldest: [QualityOfService: Timestamp] = [:]
        for shard in 0..<store.shardCount {
            for key in try store.readyKeys(shard: shard).prefix(Self.maxKeys) {
                // The first in the order of submission stands for its queue.
                guard let first = try store.ready(shard: shard, key: key, afterTurn: 0, limit: 1).first,
                    let command = try store.command(first.id)
                else { continue }
                oldest[key.qos] = min(oldest[key.qos] ?? command.updatedAt, command.updatedAt)
            }
        }
        return oldest
    }

    /// Open uploads, counted up to `limit` of each shard.
    package func openUploads(countedTo limit: Int) throws(StoreError) -> Int {
        var count = 0
        for shard in 0..<store.shardCount {
            count += try store.uploads(shard: shard, state: .open, order: .oldestFirst, after: nil, limit: limit).count
        }
        return count
    }

    /// Bytes of the files of each shard: the database, and its WAL.
    package var fileSizes: [(database: Int64, wal: Int64)] {
        (0..<store.shardCount).map { shard in
            let path = directory.shard(shard)
            return (Self.size(of: path), Self.size(of: "\(path)-wal"))
        }
    }

    private static func size(of path: String) -> Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Commits a setting, to see that the store takes writes.
    /// - Parameter timeout: for the lock of its shard.
    package func commitProbe(timeout: Duration) throws(StoreError) {
        try store.set([(SettingKey.doorReady, "\(now)")], timeout: timeout)
    }

    /// The newest command in each of some statuses.
    package func newest(in statuses: [CommandStatus]) throws(StoreError) -> [CommandStatus: Command] {
        var newest: [CommandStatus: Command] = [:]
        for status in statuses {
            newest[status] = try page(
                CommandFilter(status: status), order: .newestFirst, limit: 1, within: .milliseconds(100)
            ).commands.first
        }
        return newest
    }

    /// Those of some commands that can be read.
    package func readable(_ ids: [CommandID]) throws(StoreError) -> [CommandID: Command] {
        var commands: [CommandID: Command] = [:]
        for id in ids {
            commands[id] = try store.ifUsable { () throws(StoreError) in try store.command(id) } ?? nil
        }
        return commands
    }
}

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
