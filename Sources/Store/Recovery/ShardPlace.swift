internal import CLinux
package import Commands
package import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The row `place` of `meta`: which file a shard is in, and in which data directory. A copy of the directory has the row of
/// the original and other inodes. The number of the device is not recorded: it changes at a reboot.
struct ShardPlace: Sendable, Equatable {
    static let key = "place"

    /// `meta.id` of the file: a restore by an earlier version, which does not know the row, draws a new one.
    var fileID: String
    var inode: UInt64
    /// The absolute path of the data directory.
    var directory: String

    init(fileID: String, inode: UInt64, directory: String) {
        self.fileID = fileID
        self.inode = inode
        self.directory = directory
    }

    /// The present place of a shard.
    /// - Parameter file: its file, where it does not have its name yet.
    /// - Returns: nil where the file system may assign other inodes at each mount.
    init?(of shard: Int, in data: DataDirectory, fileID: String?, file: String? = nil) {
        let directory = data.resolved
        var facts = stat()
        guard stat(file ?? data.shard(shard), &facts) == 0, let handle = try? openDirectory(directory.path) else {
            return nil
        }
        defer { close(handle) }
        guard FileSystemType(of: handle).hasStableInodes else { return nil }
        self.init(fileID: fileID ?? "", inode: UInt64(facts.st_ino), directory: directory.path)
    }

    /// Reads the row: id, inode and path with spaces between.
    init?(_ row: String?) {
        guard let fields = row?.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false),
            fields.count == 3, let inode = UInt64(fields[1])
        else { return nil }
        self.init(fileID: String(fields[0]), inode: inode, directory: String(fields[2]))
    }

    var row: String { "\(fileID) \(inode) \(directory)" }
}

/// A data directory that is a copy of another.
package struct CopiedDirectory: Sendable, Equatable {
    /// The data directory of which it is a copy.
    package var original: String
    /// When the first file was copied.
    package var copiedAt: Timestamp

    /// Why nothing runs on it.
    /// - Parameter path: of the copy.
    package func sentence(_ path: String) -> String {
        "\(path): this is a copy of \(original) made at \(copiedAt), and both would execute the same commands; if the original "
            + "no longer runs, “sluice restore --adopt \(path)” puts the copy into use"
    }
}

extension Connection {
    /// The recorded place of the file; nil where it was never recorded.
    func place(_ facts: [String: String]) -> ShardPlace? {
        ShardPlace(facts[ShardPlace.key]).flatMap { $0.fileID == facts["id"] ?? "" ? $0 : nil }
    }

    /// Records where the file is.
    /// - Parameter file: its file, where it does not have its name yet.
    func record(placeIn data: DataDirectory, file: String? = nil) throws(StoreError) {
        let id = try Statement("SELECT value FROM meta WHERE key = 'id'", sharing: self).first { $0.text(0) }
        guard let place = ShardPlace(of: shard, in: data, fileID: id, file: file) else {
            return try execute("DELETE FROM meta WHERE key = '\(ShardPlace.key)'")
        }
        let statement = try Statement("INSERT OR REPLACE INTO meta(key, value) VALUES (?1, ?2)", sharing: self)
        statement.bind(ShardPlace.key, place.row)
        try statement.run()
    }
}

extension SQLiteStore {
    /// Whether the directory is a copy of another, by the inodes of its shards. It changes nothing.
    func copiedDirectory() -> CopiedDirectory? {
        for shard in shards {
            guard let found = try? shard.places(), let recorded = found.recorded, let present = found.present,
                recorded.inode != present.inode
            else { continue }
            return CopiedDirectory(
                original: recorded.directory, copiedAt: Self.birth(of: directory.shard(shard.number)))
        }
        return nil
    }

    /// - Throws: `.unsuitable` where the directory is a copy of another.
    func refuseCopy() throws(StoreError) {
        guard let copy = copiedDirectory() else { return recordPlaces() }
        throw StoreError(.unsuitable, "\(copy.sentence(directory.resolved.path)).")
    }

    /// Records the places of shards of an earlier version, and of a directory that was moved. One that is locked is
    /// recorded at another start.
    private func recordPlaces() {
        for shard in shards {
            guard let found = try? shard.places(), let present = found.present, found.recorded != present else {
                continue
            }
            try? shard.write(timeout: .zero) { connection throws(StoreError) in
                try connection.record(placeIn: directory)
            }
        }
    }

    private static func birth(of path: String) -> Timestamp {
        let birth = clinux_birth_time(path)
        if birth >= 0 { return Timestamp(milliseconds: birth) }
        var facts = stat()
        guard stat(path, &facts) == 0 else { return MachineClock().now() }
        return Timestamp(milliseconds: Int64(facts.st_ctim.tv_sec) * 1000)
    }
}

extension Shard {
    /// Where its file was when that was recorded, and where it is.
    fileprivate func places() throws(StoreError) -> (recorded: ShardPlace?, present: ShardPlace?) {
        try use { connection throws(StoreError) in
            let facts = try connection.meta()
            return (
                connection.place(facts), ShardPlace(of: number, in: options.directory, fileID: facts["id"])
            )
        }
    }
}

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
