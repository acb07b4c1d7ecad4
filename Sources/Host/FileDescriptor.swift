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
