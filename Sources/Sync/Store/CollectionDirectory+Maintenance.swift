package import Commands
internal import Glibc
internal import Host
internal import Store

extension CollectionDirectory {
    /// Calls `body` with each collection. One that cannot be used does not end the others.
    /// - Returns: the problems, by name. A file without tables, and one that is gone meanwhile, are none.
    package func visit(
        _ body: (String, CollectionReader) throws -> Void
    ) throws(CollectionError) -> [(name: String, error: CollectionError)] {
        let names: [String]
        do throws(SystemError) { names = try self.names() } catch { throw CollectionError(error) }
        return names.compactMap { name in
            do {
                try body(name, try CollectionReader(self, name))
                return nil
            } catch {
                let error = CollectionError(error, file(name))
                return error.problem == .missing ? nil : (name, error)
            }
        }
    }

    /// Drops the staged pages of syncs that have ended and with which no execution goes on: those older than
    /// ``SyncCheckpoint/maxAge``, and those without a checkpoint. A collection that is being synced is left
    /// alone.
    /// - Returns: the staged records that were dropped, and the collections that cannot be used.
    package func prune(
        now: Timestamp = .now
    ) throws(CollectionError) -> (records: Int64, failures: [(name: String, error: CollectionError)]) {
        var records: Int64 = 0
        let failures = try visit { name, _ in
            guard let lock = try CollectionLock.attempt(self.lock(name)) else { return }
            try withExtendedLifetime(lock) { records += try CollectionStore(self, name).pruneStage(now: now) }
        }
        return (records, failures)
    }
}

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
