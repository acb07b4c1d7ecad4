package import Commands
package import Host

/// Puts a copy of a data directory into use, in place of the original, which must not run any more: what was claimed when
/// the copy was made is settled, as after a restore.
package final class Adoption {
    private let data: DataDirectory
    private let access: ExclusiveAccess
    /// The directory of which this one is a copy.
    package let copy: CopiedDirectory
    private let numbers: [Int]

    /// Takes all locks of the directory.
    /// - Throws: `.busy` with the process that uses the directory; `.invalid` where it is not a copy.
    package init(_ data: DataDirectory) throws(StoreError) {
        self.data = data
        let (copy, count) = try Self.look(at: data)
        guard let copy else {
            throw StoreError(
                .invalid, "\(data.path) is not a copy of another data directory; “sluice up” uses it as it is.")
        }
        self.copy = copy
        numbers = Array(0..<count)
        access = try ExclusiveAccess(data)
    }

    /// Opens the store only for as long as this takes: the locks are exclusive.
    private static func look(at data: DataDirectory) throws(StoreError) -> (copy: CopiedDirectory?, shards: Int) {
        let store = try SQLiteStore(directory: data, create: false)
        try store.refuseBackup()
        return (store.copiedDirectory(), store.shardCount)
    }

    /// Checks every shard, then settles what was claimed, and posts what the shards owe each other: their files were
    /// copied one after the other. One that is interrupted is run again.
    /// - Throws: `.corrupt` where a file was changed while it was copied. Nothing has changed then.
    package func run(
        progress: (_ shard: Int) -> Void
    ) throws(StoreError) -> (settled: [CommandStatus: Int], debts: ShardDebts) {
        defer { withExtendedLifetime(access) {} }
        for number in numbers {
            progress(number)
            let problems = try use(number) { connection throws(StoreError) in try connection.integrityCheck() }
            guard let first = problems.first else { continue }
            throw StoreError(
                .corrupt,
                "Shard \(number) (\(data.shard(number))) was changed while it was copied: \(first); make another copy with "
                    + "“sluice backup” and restore that.", shard: number)
        }
        var settled: [CommandStatus: Int] = [:]
        for number in numbers {
            let released = try use(number) { connection throws(StoreError) in
                _ = try connection.migrate(epochs: nil)
                try connection.use(version: try connection.knownVersion(number, data.shard(number)))
                return try connection.settleCopy(reason: "adopted with a copy of \(copy.original)", in: data)
            }
            settled.merge(released) { $0 + $1 }
        }
        return (settled, try RestoredShards(data, count: numbers.count, restored: numbers).settle())
    }

    private func use<Value>(
        _ number: Int, _ body: (Connection) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        do throws(StoreError) {
            let connection = try Connection(shard: number, path: data.shard(number), vfs: nil)
            return try connection.use { () throws(StoreError) in try body(connection) }
        } catch {
            throw error.about(shard: number, at: data.shard(number), writer: nil)
        }
    }
}
