internal import Store

extension DataOptions {
    /// Opens the store for a process that works on it. Makes one where there is none, and refuses a backup and a copy.
    func store() throws -> SQLiteStore {
        try opening(create: true) {
            let store = try SQLiteStore(directory: directory(), create: true)
            try store.refuseBackup()
            try store.refuseCopy()
            return store
        }
    }
}
