internal import Glibc

/// The path of this program, for child processes.
enum Executable {
    static let path: String = {
        var buffer = [CChar](repeating: 0, count: 4097)
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let bytes = buffer.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }
        guard let path = String(validating: bytes, as: UTF8.self) else { return "/proc/self/exe" }
        // A program that was replaced on disk is still reachable by /proc/self/exe.
        return access(path, X_OK) == 0 ? path : "/proc/self/exe"
    }()
}
