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
