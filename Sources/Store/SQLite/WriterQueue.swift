internal import Commands
internal import Host
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The turns of the writers of one shard: each waits for those that came before it.
///
/// SQLite's write lock has no order. Sixty-four workers that try it every millisecond draw lots, and the losers take the
/// shard for locked. So a writer takes a ``QueuedLock`` before SQLite's lock, which still excludes every other program.
/// Where the file of the queue cannot be opened, the writers only lose their order.
final class WriterQueue: Sendable {
    private let target: QueuedLock.Target
    /// Of the shard.
    private let path: String
    /// One writer of this process at a time is in the queue.
    private let gate = MonotonicSemaphore(value: 1)
    private let lock = Mutex<QueuedLock?>(nil)

    init(_ target: QueuedLock.Target, shardAt path: String) {
        self.target = target
        self.path = path
    }

    /// Waits for a turn, which lasts until ``leave()``. Blocks. The shard does not count as locked while others commit to
    /// it or checkpoint it.
    /// - Parameter timeout: how long to wait from the last write of another process or thread on; in all at most 10 s, or
    ///   `timeout` where it is longer.
    /// - Throws: `busy` after `timeout`.
    func enter(timeout: Duration) throws(StoreError) {
        if attempt(.zero) { return }
        let end = MonotonicTime.now + max(timeout, WriteTimeout.foreground)
        var written = LastWrite(of: path)
        var deadline = MonotonicTime.now + timeout
        while timeout > .zero {
            if attempt(min(deadline, end) - .now) { return }
            let newest = LastWrite(of: path)
            guard newest != written, MonotonicTime.now < end else { break }
            written = newest
            deadline = .now + timeout
        }
        throw StoreError(.busy, "others write to it")
    }

    func leave() {
        lock.withLock { $0 }?.release()
        gate.signal()
    }

    private func attempt(_ timeout: Duration) -> Bool {
        let end = MonotonicTime.now + timeout
        guard gate.wait(timeout: timeout) else { return false }
        guard let lock = opened(), !lock.take(timeout: end - .now) else { return true }
        gate.signal()
        return false
    }

    private func opened() -> QueuedLock? {
        lock.withLock { lock in
            if lock == nil { lock = try? QueuedLock(target) }
            return lock
        }
    }

    /// When a shard was last written to.
    private struct LastWrite: Equatable {
        /// A commit changes the WAL, a checkpoint the file.
        let wal: FileState
        let file: FileState

        init(of path: String) {
            wal = FileState(walOf: path)
            file = FileState(path)
        }
    }
}

/// A file of a shard at one moment.
struct FileState: Equatable {
    var bytes: Int64 = 0
    /// The time of the last change, since 1970.
    var modified: Duration = .zero

    /// Looks at the WAL of the shard at `path`.
    init(walOf path: String) { self.init(path + "-wal") }

    /// Looks at the file at `path`; without a file all fields are zero. stat(2) needs no descriptor: a process that
    /// opens and closes a file of SQLite loses its locks on that file (fcntl(2)).
    init(_ path: String) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return }
        bytes = Int64(facts.st_size)
        modified = .seconds(facts.st_mtim.tv_sec) + .nanoseconds(facts.st_mtim.tv_nsec)
    }
}
