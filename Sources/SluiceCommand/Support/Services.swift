internal import Logging
internal import ServiceLifecycle

/// Runs a service until it ends, and ends it in good order at SIGTERM or SIGINT.
enum Services {
    static func run(_ service: any Service, logger: Logger) async throws {
        var quiet = logger
        // The group logs its own steps at info; the services say what matters.
        if quiet.logLevel == .info { quiet.logLevel = .warning }
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(
                        service: service, successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .cancelGroup)
                ],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet))
        try await group.run()
        Notify.stopping()
    }
}
