internal import Host
internal import Store
internal import Synchronization

/// The lock of the process that may checkpoint while others write. A starting coordinator may find it held by
/// a producer that checkpoints a large WAL.
final class CheckpointLock: Sendable {
    private let run: RunDirectory
    private let held = Mutex<FileLock?>(nil)

    init(_ run: RunDirectory) { self.run = run }

    /// Tries to obtain the lock, unless it is held already.
    func obtain() throws(StoreError) {
        try held.withLock { held throws(StoreError) in
            if held == nil { held = try run.take(.checkpoint) }
        }
    }
}
