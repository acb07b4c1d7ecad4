internal import CLinux

/// Connections to the sockets of this process that were closed at once, because they would have taken the descriptors that
/// its files need: those of monitors beyond half of its limit (`ulimit -n`), all others beyond three quarters.
package enum RefusedConnections {
    /// Since the process started.
    package static var count: Int { clinux_refused_connections() }
}
