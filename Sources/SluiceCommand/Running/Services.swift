internal import CLinux
internal import Glibc
internal import Host
internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

/// Runs a service until it ends, and drains it at SIGTERM, SIGINT, or SIGHUP where nohup(1) has not ignored
/// that.
enum Services {
    /// - Parameter reload: called at SIGHUP, which then drains only where the terminal is gone. Nil: it drains.
    static func run(
        _ service: any Service, reload: (@Sendable () -> Void)? = nil, logger: Logger
    ) async throws {
        let hangsUp = !SignalHandling.isIgnored(SIGHUP)
        if let reload, hangsUp {
            let terminal = ControllingTerminal()
            SignalHandling.handle(SIGHUP) { if terminal.hasHungUp { kill(getpid(), SIGTERM) } else { reload() } }
        }
        var quiet = logger
        // The group logs each of its steps at info; the services log the important ones.
        if quiet.logLevel == .info { quiet.logLevel = .warning }
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(
                        service: service, successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .cancelGroup),
                    .init(
                        service: StopNotice(), successTerminationBehavior: .ignore,
                        failureTerminationBehavior: .ignore),
                ],
                gracefulShutdownSignals: [.sigterm, .sigint] + (hangsUp && reload == nil ? [.sighup] : []),
                logger: quiet))
        try await group.run()
    }

    /// Notifies systemd when the drain begins, which may take the whole grace. The group shuts its services
    /// down from the last to the first.
    private struct StopNotice: Service {
        func run() async throws {
            try? await gracefulShutdown()
            Notify.stopping()
        }
    }

    /// Drains this process when the other end of a pipe closes, because its parent has ended.
    static func endWithParent(_ descriptor: CInt) {
        startThread(named: "sluice-parent") {
            var byte: UInt8 = 0
            while true {
                let count = read(descriptor, &byte, 1)
                if count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN) { break }
            }
            kill(getpid(), SIGTERM)
        }
    }
}

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
