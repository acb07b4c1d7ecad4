internal import Glibc
internal import Host

/// Reads and writes whole small files, such as those of /proc.
enum SmallFile {
    /// Nil where it cannot be read.
    static func read(_ path: String) -> String? {
        var bytes: [UInt8] = []
        guard (try? visit(path) { bytes += $0 }) != nil else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads a file in pieces, which may be large.
    /// - Throws: ``SystemError`` where it cannot be opened or read.
    static func visit(_ path: String, _ body: (ArraySlice<UInt8>) -> Void) throws(SystemError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError("open", path) }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SystemError("read", path) }
            guard count > 0 else { return }
            body(buffer[..<count])
        }
    }

    static func write(_ text: String, to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw ExitError(.cannotCreate, "\(SystemError("create", path))")
        }
        defer { close(descriptor) }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw ExitError(.cannotWrite, "\(SystemError("write", path))")
            }
        }
    }
}
