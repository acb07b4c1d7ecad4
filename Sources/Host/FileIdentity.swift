#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The device and the inode of a file: they tell whether a path still leads to a file that is open.
package struct FileIdentity: Sendable, Hashable {
    private let device: UInt64
    private let inode: UInt64

    /// The file that a path leads to; nil where there is none.
    /// - Parameter followsLinks: false: a symbolic link itself.
    package init?(at path: String, followsLinks: Bool = true) {
        var facts = stat()
        guard (followsLinks ? stat(path, &facts) : lstat(path, &facts)) == 0 else { return nil }
        self.init(facts)
    }

    /// The file behind a descriptor; nil where it is not open.
    package init?(of descriptor: CInt) {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { return nil }
        self.init(facts)
    }

    private init(_ facts: stat) {
        device = UInt64(facts.st_dev)
        inode = UInt64(facts.st_ino)
    }
}
