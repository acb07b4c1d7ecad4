internal import Host

/// The processes that keep a WAL from being started over. SQLite locks bytes of the `-shm` file, and
/// /proc/locks lists the holders of such locks.
struct WALHolders {
    /// “process 12 (sluice) reads from it”, for an error message.
    let sentence: String

    /// SQLite's read marks are locks on bytes 123 to 127.
    private static let readMarks: ClosedRange<Int> = 123...127
    /// SQLite's write lock is a lock on byte 120.
    private static let writeLock = 120

    init(of path: String, run: RunDirectory) {
        let readers = Set(
            KernelLock.all(on: "\(path)-shm")
                .filter { $0.kind == "POSIX" && Self.readMarks.contains($0.start) }.map(\.pid))
        let checkpointer = run.probe(.checkpoint)
        if !readers.isEmpty {
            sentence = Self.names(readers) + (readers.count == 1 ? " reads from it" : " read from it")
        } else if checkpointer.isHeld {
            sentence =
                (checkpointer.pid.map { Self.names([$0]) } ?? "another process")
                + " holds \(run.lock(.checkpoint)) and has not copied it"
        } else {
            sentence = "no process has copied it"
        }
    }

    /// The process that holds the write lock of a shard. Nil where none does, or where the kernel does not list it because
    /// it is in another container.
    static func writer(of path: String, run: RunDirectory) -> ShardWriter? {
        let lock = KernelLock.all(on: "\(path)-shm").first { $0.kind == "POSIX" && $0.start == writeLock }
        return lock.map { lock in
            ShardWriter(
                name: names([lock.pid]), isStopped: ProcessIdentity.isStopped(lock.pid),
                isOwn: KernelLock.all(on: run.lock(.store)).contains { $0.kind == "FLOCK" && $0.pid == lock.pid })
        }
    }

    /// “process 12 (sluice), process 14 (python3)”.
    static func names(_ pids: Set<Int32>) -> String {
        pids.sorted().map { pid in
            let name = TextFile.read("/proc/\(pid)/comm")?.filter { $0 != "\n" }
            return "process \(pid)" + (name.map { " (\($0))" } ?? "")
        }.joined(separator: ", ")
    }
}

/// The process that holds the write lock of a shard.
struct ShardWriter: Equatable {
    /// “process 12 (sluice)”.
    var name: String
    var isStopped: Bool
    /// It has the store open as a process of Sluice does.
    var isOwn: Bool

    /// The holder of a lock that was not released in time, and the remedy.
    /// - Parameter writer: nil where it is not known.
    static func sentence(_ writer: ShardWriter?) -> String {
        guard let writer else { return "is locked by another process; try again" }
        if writer.isStopped {
            return "is locked by \(writer.name), which is stopped; let it go on or end it, and try again"
        }
        return writer.isOwn
            ? "is locked by \(writer.name) of Sluice, whose commit has not returned; its disk is slow or busy: try again"
            : "is locked by \(writer.name); end that process if it hangs, or try again"
    }
}
