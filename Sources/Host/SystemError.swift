internal import Glibc

/// The number that a system call left, and its words.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    package let code: CInt

    package init(_ code: CInt) { self.code = code }

    package init() { code = errno }

    package var description: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let base = buffer.baseAddress else { return "error \(code)" }
            guard strerror_r(code, base, buffer.count) == 0 else { return "error \(code)" }
            return String(cString: base)
        }
    }

    /// As ``description``, with what to do where the words of the system mislead.
    package var sentence: String {
        code == EFBIG
            ? "it would be larger than this process may write (ulimit -f) or its file system can hold" : description
    }
}
