internal import CLinux

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Opens a file, close-on-exec.
/// - Parameters:
///   - flags: of open(2), without `O_CLOEXEC`.
///   - mode: of a file that this makes; others are not changed.
/// - Returns: a descriptor, which the caller closes.
package func openFile(_ path: String, _ flags: CInt, mode: UInt32 = 0o600) throws(SystemError) -> CInt {
    let descriptor = clinux_open(path, flags | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw SystemError("open", path) }
    return descriptor
}

/// Opens a directory, so that what is in it can be reached however long its path is.
/// - Returns: a descriptor, which the caller closes.
package func openDirectory(_ path: String) throws(SystemError) -> CInt { try openFile(path, O_RDONLY | O_DIRECTORY) }

/// Makes a file, or the names in a directory, durable. Blocks.
package func syncFile(_ path: String) throws(SystemError) {
    let descriptor = try openFile(path, O_RDONLY)
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw SystemError("sync", path) }
}

/// Sets the modification time of an open file, and leaves its access time.
/// - Parameter milliseconds: since 1970.
package func setModificationTime(of descriptor: CInt, milliseconds: Int64) throws(SystemError) {
    var times = [timespec(), timespec()]
    // UTIME_OMIT of utimensat(2), which is not imported.
    times[0].tv_nsec = (1 << 30) - 2
    times[1].tv_sec = Int(milliseconds / 1000)
    times[1].tv_nsec = Int(milliseconds % 1000) * 1_000_000
    guard futimens(descriptor, times) == 0 else { throw SystemError() }
}

/// The device and the inode of a file: they tell whether a path still leads to a file that is open.
package struct FileIdentity: Sendable, Hashable {
    private let device: UInt64
    private let inode: UInt64

    /// The file that a path leads to; nil where there is none.
    /// - Parameter followsLinks: false: a symbolic link itself.
    package init?(at path: String, followsLinks: Bool = true) {
        var facts = stat()
        guard (followsLinks ? stat(path, &facts) : lstat(path, &facts)) == 0 else { return nil }
        self.init(facts)
    }

    /// The file behind a descriptor; nil where it is not open.
    package init?(of descriptor: CInt) {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { return nil }
        self.init(facts)
    }

    private init(_ facts: stat) {
        device = UInt64(facts.st_dev)
        inode = UInt64(facts.st_ino)
    }
}

/// Small text files, as /proc and `run/` have them.
package enum TextFile {
    /// The text of a file. Bytes that are not valid UTF-8 are replaced.
    /// - Throws: ``SystemError`` where it cannot be opened or read.
    package static func contents(of path: String) throws(SystemError) -> String {
        let descriptor = clinux_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw SystemError("open", path) }
        defer { close(descriptor) }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SystemError("read", path) }
            guard count > 0 else { return String(decoding: text, as: UTF8.self) }
            text += buffer[..<count]
        }
    }

    /// The text of a file; nil where it cannot be read, or is empty. Bytes that are not valid UTF-8 are
    /// replaced.
    package static func read(_ path: String) -> String? {
        guard let text = try? contents(of: path), !text.isEmpty else { return nil }
        return text
    }
}
