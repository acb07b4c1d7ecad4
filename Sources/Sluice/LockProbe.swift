internal import Glibc

/// Whether somebody holds a lock of `run/`, without taking it where that can be avoided: a probe that takes a lock, be
/// it for a microsecond, can make the process that wants it give up.
package struct LockProbe: Sendable, Equatable {
    package var isHeld: Bool
    /// Who holds it, where the kernel tells: not for processes of other containers.
    package var pid: Int32?

    /// Looks at the lock file at `path`. A file that is not there is not held.
    package init(path: String) {
        var information = stat()
        guard stat(path, &information) == 0 else {
            self.init(isHeld: false)
            return
        }
        // The kernel's list tells devices in a way that not every file system's files do, and another may have a file of
        // this number: so only the lock itself says whether it is held.
        let pid = Self.holder(inode: UInt64(information.st_ino))
        let isHeld = Self.isTaken(path)
        self.init(isHeld: isHeld, pid: isHeld ? pid : nil)
    }

    private init(isHeld: Bool, pid: Int32? = nil) {
        self.isHeld = isHeld
        self.pid = pid
    }

    /// Reads `/proc/locks`, whose lines are `1: FLOCK ADVISORY WRITE <pid> <major>:<minor>:<inode> 0 EOF`.
    private static func holder(inode: UInt64) -> Int32? {
        guard let text = readFile("/proc/locks") else { return nil }
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count >= 6, fields[1] == "FLOCK", fields[3] == "WRITE", let pid = Int32(fields[4]),
                let number = fields[5].split(separator: ":").last.flatMap({ UInt64($0) }), number == inode
            else { continue }
            return pid
        }
        return nil
    }

    private static func isTaken(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_SH | LOCK_NB) != 0 else {
            flock(descriptor, LOCK_UN)
            return false
        }
        return errno == EWOULDBLOCK
    }

    private static func readFile(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            bytes.append(contentsOf: buffer[..<count])
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
