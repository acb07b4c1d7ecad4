internal import CLinux
internal import Glibc

/// How many connections the limit of open files allows.
package enum DescriptorBudget {
    /// Files, sockets and pipes that are not connections. libdispatch ends the process where it cannot open
    /// `/proc/self/task/…`, so connections must never use the last descriptors.
    package static let reserve = 256
    /// More connections than this need more memory than their buffers are granted.
    private static let maxDescriptors: UInt = 65_536

    /// - Parameters:
    ///   - limit: open files of the process.
    ///   - configured: nil where the limit decides.
    package static func maxConnections(limit: Int, configured: Int?) throws(DoorServerError) -> Int {
        let available = limit - reserve
        guard available >= 16 else {
            throw DoorServerError(
                "this process may open \(limit) files, and the server needs \(reserve + 16); raise the limit "
                    + "(ulimit -n)")
        }
        return min(configured ?? available, available)
    }

    /// Raises the soft limit of open files, and returns it.
    static func raiseLimit() -> Int {
        _ = clinux_raise_descriptor_limit(maxDescriptors)
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }
}
