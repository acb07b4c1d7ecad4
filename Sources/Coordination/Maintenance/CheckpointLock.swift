internal import Host
internal import Store
internal import Synchronization

/// Who holds it may checkpoint while others write. A coordinator that starts may meet a producer that relieves a WAL.
final class CheckpointLock: Sendable {
    private let run: RunDirectory
    private let held = Mutex<FileLock?>(nil)

    init(_ run: RunDirectory) { self.run = run }

    /// Tries to obtain it, where it is not held yet.
    func obtain() throws(StoreError) {
        try held.withLock { held throws(StoreError) in
            if held == nil { held = try run.take(.checkpoint) }
        }
    }
}
