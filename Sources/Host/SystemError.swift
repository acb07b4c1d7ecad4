#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A system call that failed: its error number, and the action that failed.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    /// `errno`, see errno(3).
    package let code: CInt
    /// The action and its object, as they follow “cannot”: “open “/x””. Nil where the caller says them.
    package let attempt: String?
    /// Where the path of the attempt does not exist: the directory that matters instead of its owner.
    private let missing: MissingPath?

    /// - Parameter code: as `errno` or as a function of pthreads returns it.
    package init(_ code: CInt) {
        self.code = code
        attempt = nil
        missing = nil
    }

    /// The error that the last system call of this thread left in `errno`.
    package init() { self.init(errno) }

    /// The error that the last system call of this thread left in `errno`.
    /// - Parameters:
    ///   - verb: what was tried: `open`.
    ///   - path: the file or directory.
    package init(_ verb: String, _ path: String) { self.init(errno, verb, path) }

    package init(_ code: CInt, _ verb: String, _ path: String) {
        self.code = code
        attempt = "\(verb) “\(path)”"
        missing = [EACCES, EPERM, ENOENT].contains(code) ? MissingPath(path) : nil
    }

    /// - Parameter attempt: what was tried, as it follows “cannot”.
    package init(_ code: CInt, attempt: String) {
        self.code = code
        self.attempt = attempt
        missing = nil
    }

    /// The system's words for the number: “permission denied”.
    package var words: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let base = buffer.baseAddress, strerror_r(code, base, buffer.count) == 0 else {
                return "error \(code)"
            }
            let words = String(cString: base)
            // “Input/output error” begins like a sentence, “RFS specific error” with an abbreviation.
            guard let second = words.dropFirst().first, second.isLowercase else { return words }
            return words.prefix(1).lowercased() + words.dropFirst()
        }
    }

    /// Why it failed, with what to do where that follows from the number: “permission denied; run as the user
    /// that owns it”.
    package var reason: String {
        switch code {
        case EFBIG: "it would be larger than this process may write (ulimit -f) or its file system can hold"
        case EACCES, EPERM: missing.map { "\(words) in \($0.remedy)" } ?? "\(words); run as the user that owns it"
        case ENOENT: words + (missing?.firstMissingParent.map { ": “\($0)” does not exist" } ?? "")
        case EMFILE: "\(words); raise the limit (ulimit -n), or try again"
        case ENFILE, ENOMEM, ENOBUFS, EAGAIN, EINTR: "\(words); try again"
        case ENOSPC, EDQUOT: "\(words); make room on its file system"
        default: words
        }
    }

    /// “cannot open “/x”: permission denied; run as the user that owns it”, or only ``words`` where the
    /// caller says what was tried.
    package var description: String { attempt.map { "cannot \($0): \(reason)" } ?? words }
}

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
