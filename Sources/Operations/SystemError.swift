internal import Glibc

/// The number that a system call left, and its words.
struct SystemError: Error, Equatable, CustomStringConvertible {
    let code: CInt

    init(_ code: CInt = errno) { self.code = code }

    var description: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let base = buffer.baseAddress else { return "error \(code)" }
            guard strerror_r(code, base, buffer.count) == 0 else { return "error \(code)" }
            return String(cString: base)
        }
    }

    /// As ``description``, with what to do where the words of the system mislead.
    var sentence: String {
        code == EFBIG
            ? "it would be larger than this process may write (ulimit -f) or its file system can hold" : description
    }
}
