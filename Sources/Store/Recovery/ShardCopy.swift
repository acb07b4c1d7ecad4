internal import CLinux
internal import Commands
internal import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Copies the file of a shard in slices, while other processes write and checkpoint.
///
/// 1. It copies the database file slice by slice, without a lock and without a transaction, so that no
///    checkpoint waits for it. Meanwhile checkpoints record the pages that they write (``PageChanges``).
/// 2. It checkpoints, and copies the recorded pages again, until they are few.
/// 3. It takes the write lock, checkpoints what is left, and copies those pages. With the whole WAL in the file
///    and the write lock held, the copy is the state of this moment.
///
/// A transaction over the whole copy, as of VACUUM INTO, would keep the WAL from being started over: at 60,000
/// submits a second it grows by 23 MB each second.
struct ShardCopy {
    /// Bytes in one slice.
    static let slice = 1 << 20
    /// Recorded pages that are few enough for the last step, which keeps other writers waiting.
    private static let maxLastPages = 1024
    /// Rounds of the second step.
    private static let maxRounds = 16
    /// Tries of the third step, 100 ms apart: a reader may keep the WAL from being copied as a whole.
    private static let maxTries = 50

    private let shard: Shard
    private let path: String
    /// - Parameter path: of an empty file.
    init(_ shard: Shard, to path: String) {
        self.shard = shard
        self.path = path
    }

    /// - Returns: false where it cannot be done in this way: another backup copies the shard, it is of a
    ///   version whose processes do not record checkpoints, or a reader keeps the WAL from being copied. The
    ///   file at `path` is to be emptied then.
    func run(progress: (BackupProgress) -> Void) throws(StoreError) -> Bool {
        // Release 0.1.0 records no checkpoint: its coordinator must not run, and no producer may checkpoint.
        let run = shard.options.directory.run
        let isCoordinated = run.probe(.coordinator).isHeld
        let checkpointLock = isCoordinated ? nil : try run.take(.checkpoint)
        guard try isCoordinated ? !run.coordinatorIsOfFirstRelease() : checkpointLock != nil else { return false }
        defer { withExtendedLifetime(checkpointLock) {} }
        return try shard.withOwnConnection { connection throws(StoreError) in
            guard try connection.knownVersion(shard.number, shard.path) >= Schema.firstWithPageChanges else {
                return false
            }
            let output = try system { () throws(SystemError) in try openFile(path, O_WRONLY) }
            defer { close(output) }
            guard let changes = try begin(connection) else { return false }
            try copyFile(connection, to: output, progress)
            for _ in 0..<Self.maxRounds {
                _ = try shard.checkpoint(timeout: WriteTimeout.foreground)
                guard let pages = try takeChanges(changes, connection) else { return false }
                try copy(pages, connection, to: output)
                if pages.count <= Self.maxLastPages { break }
            }
            var pages: Set<UInt32> = []
            for attempt in 0..<Self.maxTries {
                if attempt > 0 { usleep(100_000) }
                switch try copyLast(&pages, changes, connection, to: output) {
                case .done: return true
                case .delayed: continue
                case .impossible: return false
                }
            }
            return false
        }
    }

    private func begin(_ connection: Connection) throws(StoreError) -> PageChanges? {
        try locked(connection) { () throws(StoreError) in
            try system { () throws(SystemError) in
                try PageChanges.begin(in: shard.options.directory.run, shard: shard.number)
            }
        }
    }

    private func takeChanges(_ changes: PageChanges, _ connection: Connection) throws(StoreError) -> Set<UInt32>? {
        try locked(connection) { () throws(StoreError) in
            try system { () throws(SystemError) in try changes.take() }
        }
    }

    private enum Step { case done, delayed, impossible }

    /// The third step.
    /// - Parameter pages: those that an earlier try has taken and not copied.
    private func copyLast(
        _ pages: inout Set<UInt32>, _ changes: PageChanges, _ connection: Connection, to output: CInt
    ) throws(StoreError) -> Step {
        let copier = try Connection(shard: shard.number, path: shard.path, vfs: shard.options.vfs)
        return try locked(connection) { () throws(StoreError) in
            try connection.refuseReplacedFile()
            try copier.refuseReplacedFile()
            let recorded = try system { () throws(SystemError) in try changes.take() }
            guard let recorded else { return .impossible }
            try pages.formUnion(recorded.union(connection.pagesInWAL()))
            let (frames, copied) = try copier.use { () throws(StoreError) in try copier.checkpoint() }
            guard frames == copied, frames >= 0 else { return .delayed }
            try copy(pages, connection, to: output)
            // Free pages at the end may have been cut off.
            let size = try connection.fileSize()
            guard ftruncate(output, off_t(size)) == 0 else { throw failure(SystemError("truncate", path)) }
            return .done
        }
    }

    // MARK: Bytes

    private func copyFile(
        _ connection: Connection, to output: CInt, _ progress: (BackupProgress) -> Void
    ) throws(StoreError) {
        let size = try connection.fileSize()
        var offset: Int64 = 0
        while offset < size {
            let count = min(Int64(Self.slice), size - offset)
            try copy(offset..<offset + count, connection, to: output)
            offset += count
            progress(BackupProgress(shard: shard.number, bytes: offset, total: size))
        }
    }

    /// Copies pages; those that follow each other at once.
    private func copy(_ pages: Set<UInt32>, _ connection: Connection, to output: CInt) throws(StoreError) {
        let pageSize: Int64 = 4096
        var run: Range<Int64>?
        for page in pages.sorted() where page > 0 {
            let start = Int64(page - 1) * pageSize
            if let open = run, open.upperBound == start, start - open.lowerBound < Int64(Self.slice) {
                run = open.lowerBound..<start + pageSize
            } else {
                if let open = run { try copy(open, connection, to: output) }
                run = start..<start + pageSize
            }
        }
        if let open = run { try copy(open, connection, to: output) }
    }

    private func copy(_ range: Range<Int64>, _ connection: Connection, to output: CInt) throws(StoreError) {
        // Pages behind the end were cut off by a checkpoint.
        let end = min(range.upperBound, try connection.fileSize())
        guard range.lowerBound < end else { return }
        var bytes = [UInt8](repeating: 0, count: Int(end - range.lowerBound))
        let isWhole = try bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(StoreError) in try connection.readFile(buffer, at: range.lowerBound) }
        }.get()
        guard isWhole else { return }
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                pwrite(
                    output, buffer.baseAddress?.advanced(by: written), buffer.count - written,
                    off_t(range.lowerBound) + off_t(written))
            }
            guard count > 0 || errno == EINTR else { throw failure(SystemError("write", path)) }
            written += max(count, 0)
        }
    }

    // MARK: Helpers

    /// Runs `body` under the write lock; it changes nothing.
    private func locked<Value>(
        _ connection: Connection, _ body: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try connection.statement(.begin).run()
        defer { connection.rollback() }
        return try body()
    }

    private func system<Value>(_ body: () throws(SystemError) -> Value) throws(StoreError) -> Value {
        do throws(SystemError) { return try body() } catch { throw failure(error) }
    }

    /// An error of the copy, not of the shard: its message stays as it is.
    private func failure(_ error: SystemError) -> StoreError {
        var failure = StoreError(error)
        failure.shard = shard.number
        return failure
    }
}

/// Copies a file that no process changes, durably, to a new file that other users cannot read.
package enum DurableCopy {
    /// - Parameters:
    ///   - target: it is replaced where it exists, with the other files of a database there.
    ///   - progress: gets the bytes that are copied so far, and all bytes of the file.
    package static func run(from source: String, to target: String, progress: (Int64, Int64) -> Void) throws(StoreError)
    {
        do throws(SystemError) {
            let input = try openFile(source, O_RDONLY)
            defer { close(input) }
            try DatabaseFile.remove(target)
            let output = try openFile(target, O_WRONLY | O_CREAT | O_EXCL)
            defer { close(output) }
            var facts = stat()
            guard fstat(input, &facts) == 0 else { throw SystemError("stat", source) }
            let size = Int64(facts.st_size)
            if clinux_reflink(input, output) != 0 {
                try copy(input, source, output, target) { progress($0, size) }
            }
            guard fsync(output) == 0 else { throw SystemError("sync", target) }
            progress(size, size)
        } catch {
            throw StoreError(error)
        }
    }

    private static func copy(
        _ input: CInt, _ source: String, _ output: CInt, _ target: String, _ progress: (Int64) -> Void
    ) throws(SystemError) {
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        var total: Int64 = 0
        while true {
            let count = read(input, &bytes, bytes.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SystemError("read", source) }
            if count == 0 { return }
            var written = 0
            while written < count {
                let step = bytes.withUnsafeBytes { buffer in
                    write(output, buffer.baseAddress?.advanced(by: written), count - written)
                }
                guard step > 0 || errno == EINTR else { throw SystemError("write", target) }
                written += max(step, 0)
            }
            total += Int64(count)
            progress(total)
        }
    }
}
