internal import CLinux
internal import Glibc

/// How many connections the limit of open files allows.
package enum DescriptorBudget {
    private static let minConnections = 16
    /// Files, sockets and pipes that are not connections: about 100 of the store, 64 connections that are refused, and
    /// three for each event loop. libdispatch ends the process where it cannot open `/proc/self/task/…`, so connections
    /// must never use the last descriptors.
    /// - Parameter cores: each has an event loop.
    package static func reserve(cores: Int) -> Int { max(256, 192 + 4 * cores) }
    /// A connection has its socket, and while it brings an upload the file of that.
    package static let perConnection = 2
    /// More connections than this need more memory than their buffers are granted.
    private static let maxDescriptors: UInt = 65_536

    /// The connections that the door serves at the same time, at least 16.
    /// - Parameters:
    ///   - limit: files that the process may open.
    ///   - cores: of the machine.
    ///   - configured: the number that the operator wants; nil: as many as the limit allows.
    /// - Throws: ``DoorServerError`` where the limit is too low for 16.
    package static func maxConnections(
        limit: Int, cores: Int, configured: Int?
    ) throws(DoorServerError) -> Int {
        let reserve = reserve(cores: cores)
        let available = (limit - reserve) / perConnection
        guard available >= minConnections else {
            throw DoorServerError(
                "this process may open \(limit) files, and the door needs \(reserve + perConnection * minConnections); "
                    + "raise the limit (ulimit -n)")
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
