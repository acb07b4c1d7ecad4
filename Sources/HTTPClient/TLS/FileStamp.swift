internal import Glibc

/// The inode and the modification time of a file. They differ once the file has been replaced or written to.
struct FileStamp: Equatable {
    private var inode: UInt64 = 0
    private var seconds = 0
    private var nanoseconds = 0

    init(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        inode = UInt64(status.st_ino)
        (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
    }
}
