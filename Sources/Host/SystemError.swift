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
