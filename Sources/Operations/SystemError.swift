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
}
