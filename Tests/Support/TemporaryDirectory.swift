internal import Foundation

/// A private directory of one test. ``remove()`` deletes it.
package struct TemporaryDirectory: Sendable {
    package let path: String

    package init(_ name: String = "test") throws {
        var template = Array((NSTemporaryDirectory() + "/sluice-\(name).XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw Missed("cannot make a temporary directory: \(String(cString: strerror(errno)))")
        }
        let made = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // Resolve symbolic links and double slashes, so that the path equals the one that programs print.
        path = URL(fileURLWithPath: made).resolvingSymlinksInPath().path
    }

    package func remove() { try? FileManager.default.removeItem(atPath: path) }

    /// Makes a subdirectory and returns its path.
    package func makeDirectory(_ name: String) throws -> String {
        let path = "\(path)/\(name)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    /// Makes a file in the directory and returns its path.
    package func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = "\(path)/\(name)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// Makes a file of zeros without holes, in no time: its blocks are allocated and not written.
    package func solidFile(_ name: String, _ size: Int) throws -> String {
        let path = try file(name, [])
        let descriptor = open(path, O_WRONLY)
        defer { close(descriptor) }
        let code = posix_fallocate(descriptor, 0, off_t(size))
        guard code == 0 else { throw Missed("cannot allocate \(path): \(String(cString: strerror(code)))") }
        return path
    }
}

/// Reads a whole file; nil where there is none. (`FileManager.contents` reads only the first page of a file in /proc.)
package func contents(of path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { return nil }
        guard count > 0 else { return bytes }
        bytes += buffer[..<count]
    }
}
