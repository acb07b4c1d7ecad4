internal import Glibc

/// A file that is being read; it is closed with this object.
final class OpenedFile: Sendable {
    private let descriptor: CInt

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Changes with the file: of its inode, size and time; nil where it is not a regular file.
    var tag: String? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let time = status.st_mtim
        return "\"\(status.st_ino)-\(status.st_size)-\(time.tv_sec).\(time.tv_nsec)\""
    }

    /// - Returns: up to `count` bytes; none at the end; nil where `errno` says why.
    func read(_ count: Int) -> [UInt8]? {
        while true {
            var result = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                result = Glibc.read(descriptor, buffer.baseAddress, count)
                filled = max(result, 0)
            }
            if result >= 0 { return bytes }
            guard errno == EINTR else { return nil }
        }
    }
}
