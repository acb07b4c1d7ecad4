internal import CLinux
internal import Commands
package import Glibc
package import Host
package import Operations

/// A path, and the way in which it is opened.
struct SourceOpener {
    private let path: String
    /// Nil: symbolic links are followed, to anywhere.
    private let directory: OpenFile?

    init(_ path: String) {
        self.path = path
        directory = nil
    }

    /// The path of a file beneath one of these directories, whatever has happened to the path since it was chosen. Blocks.
    /// - Parameters:
    ///   - path: absolute, without symbolic links.
    ///   - directories: absolute paths, which may have symbolic links.
    /// - Throws: ``PayloadError`` of the kind `source` where it is beneath none of them.
    init(_ path: String, beneath directories: [String]) throws(PayloadError) {
        for directory in directories {
            guard let bytes = realpath(directory, nil) else { continue }
            defer { free(bytes) }
            guard let real = String(validatingCString: bytes) else { continue }
            let root = real.endsWithBytes(of: "/") ? real : real + "/"
            guard path.beginsWithBytes(of: root), let opened = try? OpenFile(real, OpenFile.pathOnly | O_DIRECTORY)
            else { continue }
            self.directory = opened
            self.path = String(Substring(path.utf8.dropFirst(root.utf8.count)))
            return
        }
        throw PayloadError(
            .source,
            "\(path) is not beneath a directory of door.submit.sources, whose files alone are sent by commands over HTTP"
        )
    }

    /// - Returns: false with `errno`.
    func examine(_ status: inout stat) -> Bool {
        guard directory != nil else { return stat(path, &status) == 0 }
        let descriptor = open(OpenFile.pathOnly)
        guard descriptor >= 0 else { return false }
        let file = OpenFile(owning: descriptor)
        return fstat(file.descriptor, &status) == 0
    }

    /// - Returns: a descriptor; -1 with `errno`, which is `ELOOP` where a symbolic link has come onto the way.
    func open(_ flags: CInt) -> CInt {
        guard let directory else { return clinux_open(path, flags, 0) }
        return clinux_open_beneath(directory.descriptor, path, flags)
    }
}

/// A descriptor that is closed with this object.
package final class OpenFile: Sendable {
    /// `O_PATH`, which Glibc's module does not have: 0o10000000 on x86-64 and arm64.
    package static let pathOnly: CInt = 0o10000000

    package let descriptor: CInt

    /// - Parameter descriptor: open, and owned by this object from here on.
    package init(owning descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Opens a file, close-on-exec.
    /// - Parameter flags: of open(2).
    package init(_ path: String, _ flags: CInt) throws(SystemError) { descriptor = try openFile(path, flags) }

    /// The facts that fstat(2) tells.
    package func facts(_ path: String) throws(SystemError) -> stat {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw SystemError("examine", path) }
        return facts
    }
}

extension String {
    /// The path, relative to the working directory of this process, without “./” at its beginning. “..” stays, because it may
    /// lead out of a symbolic link.
    /// - Throws: ``PayloadError`` of the kind `source` where that directory is gone, or its path is not valid
    ///   UTF-8.
    package func absolutePath() throws(PayloadError) -> String {
        guard !beginsWithBytes(of: "/") else { return self }
        guard let directory = getcwd(nil, 0) else {
            throw PayloadError(.source, "\(self) cannot be found: the working directory is gone")
        }
        defer { free(directory) }
        guard let path = String(validatingCString: directory) else {
            let shown = String(shellQuoting: UnsafeRawBufferPointer(start: directory, count: strlen(directory)))
            throw PayloadError(
                .source,
                "\(self) cannot be named: the working directory \(shown) is not valid UTF-8; rename it, or reach it by "
                    + "another name")
        }
        var name = self[...].utf8
        while name.starts(with: "./".utf8) {
            name = name.dropFirst(2)
            name = name.drop { $0 == UInt8(ascii: "/") }
        }
        return (path.endsWithBytes(of: "/") ? path : path + "/") + Substring(name)
    }
}
