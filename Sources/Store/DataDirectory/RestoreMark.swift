internal import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The mark that `sluice restore` leaves in a data directory while it replaces shards. No process uses a store
/// with it: a restore that was killed has replaced some shards and not the others.
enum RestoreMark {
    /// The arguments of the restore: the directory of the backup, and the shard where it is only one.
    static func text(backup: String, shard: Int?) -> String { backup + (shard.map { " --shard \($0)" } ?? "") }

    /// Durable when this returns.
    static func set(_ directory: DataDirectory, _ text: String) throws(StoreError) {
        do throws(SystemError) {
            let descriptor = try openFile(directory.restoring, O_WRONLY | O_CREAT | O_TRUNC)
            defer { close(descriptor) }
            let count = text.utf8.count
            guard text.withCString({ write(descriptor, $0, count) }) == count, fsync(descriptor) == 0 else {
                throw SystemError("write", directory.restoring)
            }
        } catch {
            throw StoreError(error)
        }
        try directory.sync(directory.path)
    }

    static func remove(_ directory: DataDirectory) throws(StoreError) {
        guard unlink(directory.restoring) == 0 || errno == ENOENT else {
            throw StoreError(SystemError("remove", directory.restoring))
        }
        try directory.sync(directory.path)
    }

    /// - Parameter shard: the one that is to be restored; nil: all.
    /// - Throws: `.corrupt` where a restore was interrupted that has other shards to replace.
    static func checkBeforeRestore(_ directory: DataDirectory, shard: Int?) throws(StoreError) {
        guard let shard, access(directory.restoring, F_OK) == 0 else { return }
        let interrupted = TextFile.read(directory.restoring) ?? "DIR"
        if let copy = CopyMark.arguments(inFile: interrupted) {
            throw StoreError(.corrupt, CopyMark.sentence(directory.path, arguments: copy))
        }
        guard !interrupted.utf8.reversed().starts(with: " --shard \(shard)".utf8.reversed()) else { return }
        throw StoreError(
            .corrupt,
            "A restore of the store in \(directory.path) was interrupted; run “sluice restore \(interrupted)” again first."
        )
    }

    /// - Parameter shard: the shard that is about to be used, for the error.
    /// - Throws: `.busy` while the restore runs, `.corrupt` after it was interrupted.
    static func check(_ directory: DataDirectory, shard: Int? = nil) throws(StoreError) {
        guard access(directory.restoring, F_OK) == 0 else { return }
        let holder = KernelLock.all(on: directory.run.lock(.store)).first { $0.kind == "FLOCK" && $0.isExclusive }
        let mark = TextFile.read(directory.restoring)
        let copy = CopyMark.arguments(inFile: mark)
        if let holder {
            throw StoreError(
                .busy,
                "The store in \(directory.path) is being \(copy == nil ? "restored" : "copied") by process \(holder.pid); try again when it ends.",
                shard: shard)
        }
        if let copy { throw StoreError(.corrupt, CopyMark.sentence(directory.path, arguments: copy), shard: shard) }
        let backup = mark ?? "DIR"
        throw StoreError(
            .corrupt,
            "A restore of the store in \(directory.path) was interrupted, so the store is not complete; run “sluice "
                + "restore \(backup)” again.", shard: shard)
    }
}

/// The mark of a store that a copy fills, or has left unfinished. Every program refuses such a store.
///
/// SQLite: the file `restoring` of the data directory, which begins with ``firstLine``. PostgreSQL: the row ``key`` of `meta`,
/// which begins with an id of the copy and a space. Both end with the arguments of the copy.
enum CopyMark {
    static let firstLine = "store copy\n"
    static let key = "copying"

    /// The arguments of the copy in the mark of a data directory; nil for the mark of a restore.
    static func arguments(inFile text: String?) -> String? {
        guard let text, text.hasPrefix(firstLine) else { return nil }
        return String(text.dropFirst(firstLine.count))
    }

    /// The arguments of the copy in the mark of a schema.
    static func arguments(inRow value: String) -> String { String(value.drop { $0 != " " }.dropFirst()) }

    /// Why the store is refused.
    static func sentence(_ store: String, arguments: String) -> String {
        "\(store): a copy to this store was interrupted, so the store is not complete; run “sluice store copy \(arguments)” "
            + "again."
    }
}
