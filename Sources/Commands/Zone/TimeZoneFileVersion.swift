#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Identity, size and time of a file. A package manager replaces a file of tzdata by another one, so that its
/// inode changes even where the time of the change does not.
struct TimeZoneFileVersion: Hashable, Sendable {
    private var device: UInt64
    private var inode: UInt64
    private var size: Int64
    private var seconds: Int64
    private var nanoseconds: Int64

    init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        #if canImport(Glibc)
            (seconds, nanoseconds) = (Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec))
        #else
            (seconds, nanoseconds) = (
                Int64(status.st_mtimespec.tv_sec), Int64(status.st_mtimespec.tv_nsec)
            )
        #endif
    }
}
