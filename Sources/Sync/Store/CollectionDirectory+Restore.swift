internal import Glibc
internal import Host
internal import Store

extension CollectionDirectory {
    /// Replaces a collection by its copy in a backup. A restore that is killed here is made again: until then no
    /// process uses the data directory.
    /// - Throws: ``CollectionError``: `busy` where another process writes to the collection.
    package func restore(_ name: String, from backup: CollectionDirectory) throws {
        guard let lock = try CollectionLock.attempt(lock(name)) else {
            throw CollectionError(
                .busy, "another process writes to the collection “\(name)”; try again when it has ended")
        }
        defer { withExtendedLifetime(lock) {} }
        try make(name)
        let (path, copy) = (file(name), "\(file(name)).restoring")
        do throws(StoreError) {
            try DurableCopy.run(from: backup.file(name), to: copy) { _, _ in }
        } catch {
            unlink(copy)
            throw CollectionError(.system, error.message)
        }
        guard chmod(copy, fileMode) == 0 else { throw CollectionError(SystemError("change the mode of", copy)) }
        // SQLite would replay an old WAL into the new file.
        for old in files(of: name).dropFirst() where unlink(old) != 0 && errno != ENOENT {
            throw CollectionError(SystemError("remove", old))
        }
        guard rename(copy, path) == 0 else { throw CollectionError(SystemError("rename", copy)) }
        do throws(SystemError) { try syncFile(self.path) } catch { throw CollectionError(error) }
    }
}
