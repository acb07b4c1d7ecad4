internal import CLinux
internal import Commands
internal import Glibc
internal import Operations

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
