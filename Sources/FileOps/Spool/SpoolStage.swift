internal import CLinux
internal import Commands
internal import Glibc
internal import Host
internal import Store

/// The directory inside the spool in which one `put --spool` makes its copies, under a flock(2) while its
/// process lives. The next ``sweep(_:)`` deletes the directories of killed processes.
final class SpoolStage: Sendable {
    private static let ending = ".part"

    /// The spool that makes the copies here.
    let spool: Spool
    private let descriptor: CInt

    /// Makes the directory inside `parent`, which exists. Blocks.
    /// - Throws: ``StoreError`` that names the directory.
    init(in parent: Spool) throws(StoreError) {
        while true {
            let path = "\(parent.directory)/\(CommandID())\(Self.ending)"
            guard mkdir(path, 0o700) == 0 else {
                throw StoreError(SystemError("create", path))
            }
            // A sweep may delete the directory before it is locked.
            guard let descriptor = try Self.lock(path, LOCK_EX) else { continue }
            self.descriptor = descriptor
            spool = Spool(directory: path, umask: parent.umask)
            return
        }
    }

    deinit { close(descriptor) }

    /// Deletes the directory, which must be empty.
    func remove() { rmdir(spool.directory) }

    /// Deletes the directories of killed processes. Blocks.
    /// - Throws: ``StoreError`` that names the file that cannot be deleted.
    static func sweep(_ spool: Spool) throws(StoreError) {
        for name in try DataDirectory.names(spool.directory) where name.endsWithBytes(of: ending) {
            let path = "\(spool.directory)/\(name)"
            guard let descriptor = try lock(path, LOCK_EX | LOCK_NB) else { continue }
            defer { close(descriptor) }
            for copy in try DataDirectory.names(path) where CommandID(copy) != nil { unlink("\(path)/\(copy)") }
            guard rmdir(path) == 0 else {
                throw StoreError(SystemError("delete the left-over directory", path))
            }
        }
    }

    /// - Returns: nil where another process holds the lock, or has deleted the directory.
    private static func lock(_ path: String, _ operation: CInt) throws(StoreError) -> CInt? {
        let descriptor = clinux_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW, 0)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw StoreError(SystemError("open", path))
        }
        guard flock(descriptor, operation) == 0 else {
            let error = SystemError("lock", path)
            close(descriptor)
            if error.code == EWOULDBLOCK { return nil }
            throw StoreError(error)
        }
        var locked = stat()
        var named = stat()
        guard fstat(descriptor, &locked) == 0, lstat(path, &named) == 0, locked.st_ino == named.st_ino else {
            close(descriptor)
            return nil
        }
        return descriptor
    }
}
