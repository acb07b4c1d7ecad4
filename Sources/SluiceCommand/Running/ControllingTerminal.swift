internal import CLinux
internal import Glibc

/// The terminal that this process belongs to. Its end and kill(1) send the same signal, SIGHUP.
struct ControllingTerminal: Sendable {
    private let wasThere: Bool

    init() { wasThere = Self.isThere }

    /// Whether there was a terminal when the process started, and it is gone now.
    var hasHungUp: Bool { wasThere && !Self.isThere }

    private static var isThere: Bool {
        let descriptor = clinux_open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY, 0)
        guard descriptor >= 0 else { return false }
        close(descriptor)
        return true
    }
}
