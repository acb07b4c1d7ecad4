internal import Glibc
internal import Host
internal import Logging
internal import ServiceLifecycle
internal import Store
internal import UnixSignals

/// Runs a service until it ends, and ends it in good order at SIGTERM, SIGINT or SIGHUP, unless that is ignored as nohup
/// wishes.
enum Services {
    /// Eight shards with two connections of three files each, sockets and transfers; with fewer, libraries abort or wait for
    /// ever where they get none.
    private static let minDescriptors: rlim_t = 256

    /// - Throws: where the process may not open as many files as a service needs.
    static func requireDescriptors() throws {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < minDescriptors
        else { return }
        throw ExitError(
            .tryAgain,
            "this process may open \(limit.rlim_cur) files, and \(minDescriptors) are needed at least; raise the limit "
                + "(ulimit -n)")
    }

    static func run(_ service: any Service, logger: Logger) async throws {
        var quiet = logger
        // The group logs its own steps at info; the services say what matters.
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
                gracefulShutdownSignals: [.sigterm, .sigint] + (SignalHandling.isIgnored(SIGHUP) ? [] : [.sighup]),
                logger: quiet))
        try await group.run()
    }

    /// Tells systemd at the beginning of the end, which may take the whole grace. The group asks its services to end from the
    /// last to the first.
    private struct StopNotice: Service {
        func run() async throws {
            try? await gracefulShutdown()
            Notify.stopping()
        }
    }

    /// Ends this process in good order once the other end of a pipe is closed: its parent is gone.
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
