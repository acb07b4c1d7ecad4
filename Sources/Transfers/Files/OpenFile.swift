internal import CLinux
package import Glibc
package import Host

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
