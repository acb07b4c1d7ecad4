package import Commands

extension CollectionDirectory {
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
