internal import Commands
internal import Glibc
package import Operations

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
