#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The directory that holds everything of one Sluice: shards, spool, sockets, locks, keys. Private to its
/// user.
///
/// * `shard-NN.sqlite`: the store, one SQLite file a shard, with `-wal` and `-shm` beside it
/// * `sluice.yaml`: the configuration, where `--config` does not name another
/// * `spool/`: copies of sources that `put --spool` makes; `spool/uploads/` has the bytes of uploads to the door
/// * `exec/`: temporary files of programs that run
/// * `collections/`: the collections of `sync`, one SQLite file each
/// * `keys/`: secrets; `door.token` is the access token of this machine
/// * `presence`: an empty file; locks on its bytes say which coordinator, workers and users of the store live
/// * `restoring`: mark: `sluice restore` replaces shards, or was interrupted in it; see ``RestoreMark``
/// * `run/`: locks, notes and sockets of the processes; see ``RunDirectory``
package struct DataDirectory: Sendable, Hashable {
    package let path: String

    package init(path: String) { self.path = path }

    /// Whether this process may make the directory, or it exists.
    package var canBeMade: Bool { MissingPath.canMakeDirectory(path) }

    package var run: RunDirectory { RunDirectory(path: "\(path)/run") }
    package var spool: String { "\(path)/spool" }
    /// The files of uploads to the door, which makes the directory and owns it: a file without a row is removed.
    package var uploads: String { "\(spool)/uploads" }
    /// The name of the empty file in ``uploads`` that says whose they are: the directory under a file system that is not
    /// mounted has none.
    /// - Parameter store: the id of the store.
    package static func uploadsMark(of store: String) -> String { "\(uploadsMarkPrefix)\(store)" }
    package static let uploadsMarkPrefix = "store."
    /// The same directory by its absolute path, for what processes with other working directories read. Where it does
    /// not exist, or cannot be resolved, as it is.
    package var resolved: DataDirectory {
        guard let path = realpath(path, nil) else { return self }
        defer { free(path) }
        return DataDirectory(path: String(cString: path))
    }
    /// The responses of `fetch`; made with its first use.
    package var cache: String { "\(path)/cache" }
    /// The directories of programs for their temporary files; made with the first program.
    package var exec: String { "\(path)/exec" }
    /// The collections of `sync`; made with its first use.
    package var collections: String { "\(path)/collections" }
    package var keys: String { "\(path)/keys" }
    /// The access token of this machine; the door makes it.
    package var doorToken: String { "\(keys)/door.token" }
    package var restoring: String { "\(path)/restoring" }
    package var configuration: String { "\(path)/sluice.yaml" }
    /// The data directory and the directories in it, in the order in which they are made.
    package var directories: [String] { [path, run.path, spool, keys] }

    package func shard(_ number: Int) -> String {
        "\(path)/\(Self.shardPrefix)\(Self.twoDigits(number))\(Self.shardSuffix)"
    }

    package static let shardPrefix = "shard-"
    package static let shardSuffix = ".sqlite"

    package static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
