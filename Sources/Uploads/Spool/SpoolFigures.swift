internal import Host
internal import Synchronization

/// How full the spool is, in bytes.
package struct SpoolFigures: Sendable, Equatable {
    /// Of all uploads in the spool, with the bytes that they were promised.
    package var used: Int64
    /// Promised, and not set aside by the disk yet.
    package var promised: Int64
    /// Free on the disk.
    package var free: Int64
    /// Left free by uploads.
    package var floor: Int64

    package init(used: Int64, promised: Int64, free: Int64, floor: Int64) {
        self.used = used
        self.promised = promised
        self.free = free
        self.floor = floor
    }
}

extension UploadEngine {
    /// - Throws: ``UploadError`` where the disk cannot be asked.
    package func spoolFigures() async throws(UploadError) -> SpoolFigures {
        let free = try await onDisk { [spool] () throws(SystemError) in try spool.free }
        let space = space.withLock { $0 }
        return SpoolFigures(used: space.used, promised: space.unallocated, free: free.bytes, floor: limits.minFree)
    }
}
