internal import Glibc
internal import Host

/// Notifies systemd of the state of a service of `Type=notify`: sd_notify(3), without its library.
enum Notify {
    static func ready() { send("READY=1") }
    static func stopping() { send("STOPPING=1") }
    /// The service ends its parts and starts them again; ``ready()`` follows.
    static func reloading() {
        send("RELOADING=1\nMONOTONIC_USEC=\(MonotonicTime.now.nanoseconds / 1000)")
    }

    /// Resets the watchdog of systemd (`WatchdogSec`): call it from the loop that must not hang. Does nothing where
    /// there is none.
    static func alive() { if hasWatchdog { send("WATCHDOG=1") } }

    /// sd_watchdog_enabled(3)
    private static let hasWatchdog =
        getenv("WATCHDOG_USEC") != nil && (getenv("WATCHDOG_PID").map { String(cString: $0) == "\(getpid())" } ?? true)

    /// Read once, so that ``keep()`` can hide it from children.
    private static let path = getenv("NOTIFY_SOCKET").flatMap { ByteText.text($0) }

    /// Hides the socket from child processes, so that they do not report their own state as that of this
    /// service.
    static func keep() {
        if path != nil { unsetenv("NOTIFY_SOCKET") }
    }

    /// Shows the socket again, to the program that replaces this one.
    static func restore() {
        if let path { setenv("NOTIFY_SOCKET", path, 1) }
    }

    private static func send(_ state: String) {
        guard let path, path.hasPrefix("/") || path.hasPrefix("@") else { return }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        // A name that starts with “@” is abstract: its first byte is zero.
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let length = socklen_t(MemoryLayout.offset(of: \sockaddr_un.sun_path)! + bytes.count)
        _ = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                sendto(descriptor, state, state.utf8.count, CInt(MSG_NOSIGNAL), address, length)
            }
        }
    }
}
