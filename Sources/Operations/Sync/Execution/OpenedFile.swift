internal import Glibc

/// A file that is being read; it is closed with this object.
final class OpenedFile: Sendable {
    private let descriptor: CInt

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    var status: stat? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status : nil
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
