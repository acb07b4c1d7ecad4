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

    /// The process that holds the write lock: “process 12 (sluice), which is stopped”. Nil where none does,
    /// or where the kernel does not list it because it is in another container.
    static func writer(of path: String) -> String? {
        let lock = KernelLock.all(on: "\(path)-shm").first { $0.kind == "POSIX" && $0.start == writeLock }
        return lock.map { names([$0.pid]) + (ProcessIdentity.isStopped($0.pid) ? ", which is stopped" : "") }
    }

    /// “process 12 (sluice), process 14 (python3)”.
    static func names(_ pids: Set<Int32>) -> String {
        pids.sorted().map { pid in
            let name = TextFile.read("/proc/\(pid)/comm")?.filter { $0 != "\n" }
            return "process \(pid)" + (name.map { " (\($0))" } ?? "")
        }.joined(separator: ", ")
    }
}
