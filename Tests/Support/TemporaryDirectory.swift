internal import Foundation

/// A directory of one test, private to its user, removed by ``remove()``.
package struct TemporaryDirectory: Sendable {
    package let path: String

    package init(_ name: String = "test") throws {
        var template = Array((NSTemporaryDirectory() + "/sluice-\(name).XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw Missed("no temporary directory: \(String(cString: strerror(errno)))")
        }
        let made = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // Without symbolic links and double slashes, so that it compares equal to what programs print.
        path = URL(fileURLWithPath: made).resolvingSymlinksInPath().path
    }

    package func remove() { try? FileManager.default.removeItem(atPath: path) }

    /// Makes a directory inside and returns its path.
    package func directory(_ name: String) throws -> String {
        let path = "\(path)/\(name)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    /// Makes a file inside and returns its path.
    package func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = "\(path)/\(name)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// Makes a file of that size with zeros on disk and no hole, without the time to write them.
    package func solidFile(_ name: String, _ size: Int) throws -> String {
        let path = try file(name, [])
        let descriptor = open(path, O_WRONLY)
        defer { close(descriptor) }
        let code = posix_fallocate(descriptor, 0, off_t(size))
        guard code == 0 else { throw Missed("\(path) cannot be made large: \(String(cString: strerror(code)))") }
        return path
    }
}

/// Reads a whole file; nil where there is none.
package func contents(of path: String) -> [UInt8]? {
    FileManager.default.contents(atPath: path).map { [UInt8]($0) }
}
