internal import Commands
internal import Glibc

/// Finds files beneath directories that the configuration opens to clients.
enum SourcePath {
    /// Resolves every symbolic link of a path. It blocks.
    /// - Parameter directories: absolute paths.
    /// - Returns: the real path of a regular file beneath one of the directories. Nil for anything else, so that a client
    ///   does not learn which other files exist.
    static func resolve(_ path: String, beneath directories: [String]) -> String? {
        guard path.utf8.first == .slash, !path.utf8.contains(0), !directories.isEmpty, let real = real(path) else {
            return nil
        }
        let isBeneath = directories.contains { directory in
            guard let root = self.real(directory) else { return false }
            return real.beginsWithBytes(of: root.endsWithBytes(of: "/") ? root : root + "/")
        }
        var status = stat()
        guard isBeneath, lstat(real, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return real
    }

    private static func real(_ path: String) -> String? {
        guard let bytes = realpath(path, nil) else { return nil }
        defer { free(bytes) }
        return String(validatingCString: bytes)
    }
}
