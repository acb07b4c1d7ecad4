internal import Host

/// The lock of a collection: its holder is the only one that writes. It ends with its process.
///
/// A lock counts only while its name leads to the locked file: a file that was removed and made anew can be
/// locked twice.
struct CollectionLock: Sendable {
    private let lock: FileLock

    /// - Returns: nil where another execution or process writes to the collection.
    static func attempt(_ path: String) throws(SystemError) -> CollectionLock? {
        for _ in 0..<16 {
            guard let lock = try FileLock.attempt(path) else { return nil }
            if lock.isNamed(path) { return CollectionLock(lock: lock) }
        }
        return nil
    }
}
