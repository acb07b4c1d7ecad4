internal import Commands
internal import Glibc
package import Host
internal import Logging
internal import Synchronization
package import UploadSpool

extension UploadEngine {
    /// - Throws: ``UploadError`` where the disk cannot be asked.
    package func spoolFigures() async throws(UploadError) -> SpoolFigures {
        let free = try await onDisk { [spool] () throws(SystemError) in try spool.free }
        let space = space.withLock { $0 }
        return SpoolFigures(
            used: space.used, promised: space.unallocated, free: free.bytes, floor: limits.minFree, quota: limits.quota)
    }

    /// Tells other processes the figures.
    package func reportFigures(to run: RunDirectory) async {
        do throws(UploadError) {
            let figures = try await spoolFigures()
            try await onDisk { () throws(SystemError) in try figures.write(to: run) }
        } catch {
            logger.debug("The figures of the spool cannot be told: \(error)")
        }
    }
}

extension SpoolFigures {
    /// Writes the figures for other processes. Blocks.
    fileprivate func write(to run: RunDirectory) throws(SystemError) {
        let path = Self.path(run)
        let file = try SpoolFile("\(path).new")
        let text = Array(json.text.utf8)
        try file.write(text, at: 0)
        try file.truncate(to: Int64(text.count))
        guard rename("\(path).new", path) == 0 else { throw SystemError("replace", path) }
    }
}
