internal import Glibc

/// This program, to be started again as a child.
enum Executable {
    static let path: String = {
        var buffer = [CChar](repeating: 0, count: 4097)
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let bytes = buffer.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }
        guard let path = String(validating: bytes, as: UTF8.self) else { return "/proc/self/exe" }
        // A program that was replaced meanwhile is still there under its old number.
        return access(path, X_OK) == 0 ? path : "/proc/self/exe"
    }()
}
