internal import CLinux

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

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
