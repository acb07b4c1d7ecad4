#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A path that does not exist, or that this process may not see, and the directory that keeps it from being made.
struct MissingPath: Equatable, Sendable {
    /// The nearest parent that exists.
    let parent: String
    let owner: uid_t
    /// Nil where only the last component is missing.
    let firstMissingParent: String?
    /// This process may not enter the parent, so that the path may exist.
    let isHidden: Bool

    /// Nil where the path exists. Leaves `errno` as it is.
    init?(_ path: String) {
        let number = errno
        defer { errno = number }
        var facts = stat()
        guard !path.isEmpty, lstat(path, &facts) != 0 else { return nil }
        isHidden = errno == EACCES
        var missing: String?
        var parent = Self.parent(of: path)
        while stat(parent, &facts) != 0 {
            guard parent != "/", parent != "." else { return nil }
            missing = parent
            parent = Self.parent(of: parent)
        }
        self.parent = parent
        owner = facts.st_uid
        firstMissingParent = missing
    }

    /// The parent with its owner, and what to do.
    var remedy: String {
        "“\(parent)”, which belongs to user \(Self.name(of: owner)); "
            + (isHidden
                ? "run as that user, or choose another path"
                : "make it there as that user, and give it to user \(Self.name(of: geteuid()))")
    }

    /// Whether this process may make a directory at a path, or there is one.
    static func canMakeDirectory(_ path: String) -> Bool {
        guard let missing = MissingPath(path) else { return access("\(path)/.", F_OK) == 0 }
        return !missing.isHidden && access("\(missing.parent)/.", W_OK | X_OK) == 0
    }

    private static func parent(of path: String) -> String {
        let bytes = path.utf8
        let end = bytes.lastIndex { $0 != UInt8(ascii: "/") } ?? bytes.startIndex
        guard let slash = bytes[...end].lastIndex(of: UInt8(ascii: "/")) else { return "." }
        guard let last = bytes[..<slash].lastIndex(where: { $0 != UInt8(ascii: "/") }) else { return "/" }
        return String(path[...last])
    }

    private static func name(of user: uid_t) -> String {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
            guard getpwuid_r(user, &entry, buffer.baseAddress!, buffer.count, &found) == 0, found != nil,
                let name = entry.pw_name
            else { return "\(user)" }
            return String(cString: name)
        }
    }
}
