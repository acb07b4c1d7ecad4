internal import CLinux
internal import Glibc

/// Tells one run of this machine from the next: what the page cache holds is lost in between.
enum BootID {
    /// `/proc/sys/kernel/random/boot_id`; empty where it cannot be read.
    static let current: String = {
        let descriptor = clinux_open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        return withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            return String(decoding: buffer.prefix(max(count, 0)).prefix { $0 != 0x0A }, as: UTF8.self)
        }
    }()
}
