internal import CLinux
internal import Glibc

/// The start time of a process and the boot: they tell it from a later process with the same number.
package enum ProcessIdentity {
    /// Field 22 of /proc/PID/stat: clock ticks from the boot to the start of the process; nil where there is
    /// no such process.
    package static func startTime(of pid: Int32) -> Int64? {
        let fields = fields(of: pid)
        return fields.count > 19 ? Int64(fields[19]) : nil
    }

    /// The parent of a process; nil where there is no such process.
    package static func parent(of pid: Int32) -> Int32? {
        let fields = fields(of: pid)
        return fields.count > 1 ? Int32(fields[1]) : nil
    }

    /// Whether a signal or a debugger has stopped the process.
    package static func isStopped(_ pid: Int32) -> Bool {
        fields(of: pid).first.map { $0 == "T" || $0 == "t" } ?? false
    }

    /// Fields 3 and up of /proc/PID/stat; none where there is no such process.
    private static func fields(of pid: Int32) -> [Substring] {
        guard let text = TextFile.read("/proc/\(pid)/stat") else { return [] }
        // The second field is the name in parentheses, and may hold spaces and parentheses itself.
        guard let end = text.lastIndex(of: ")") else { return [] }
        return text[text.index(after: end)...].split(separator: " ")
    }

    /// /proc/sys/kernel/random/boot_id, which changes with each boot; empty where it cannot be read. A file
    /// that was written and not synced before a reboot may be lost.
    package static let bootID: String =
        (TextFile.read("/proc/sys/kernel/random/boot_id") ?? "").filter { !$0.isWhitespace }
}

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
