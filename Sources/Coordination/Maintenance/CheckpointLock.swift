internal import Store
internal import Synchronization

/// Who holds it may checkpoint while others write. A coordinator that starts may meet a producer that relieves a WAL.
final class CheckpointLock: Sendable {
    private let path: String
    private let held = Mutex<FileLock?>(nil)

    init(_ path: String) { self.path = path }

    /// Tries to obtain it, where it is not held yet.
    func obtain() throws(StoreError) {
        try held.withLock { held throws(StoreError) in
            if held == nil { held = try FileLock.attempt(path) }
        }
    }
}
