internal import CLinux
internal import Glibc

/// A process that is watched without being a child: its pidfd becomes readable when the process ends.
package struct WatchedProcess: ~Copyable {
    package let descriptor: CInt

    /// - Returns: nil where the process is not the one that was meant, or cannot be seen from here (another
    ///   container).
    package init?(pid: Int32, startTime: Int64, bootID: String) {
        guard bootID == ProcessIdentity.bootID else { return nil }
        let descriptor = clinux_pidfd_open(pid)
        guard descriptor >= 0 else { return nil }
        // Checked after opening: from here on the descriptor cannot pass to another process.
        guard ProcessIdentity.startTime(of: pid) == startTime else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
    }

    /// Kills the process; never a later owner of its number.
    package func kill() { _ = clinux_pidfd_send_signal(descriptor, SIGKILL) }

    deinit { close(descriptor) }
}
