import Door
import HTTPTypes
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// A door on a free port with endpoints for tests.
struct TestDoor: Sendable {
    let port: Int
    let server: DoorServer
    let services: ServiceGroup

    /// Runs a door for the time of `body`.
    static func run(
        _ endpoints: [Endpoint] = TestEndpoints.all, authenticate: @escaping RequestDispatcher.Authenticate,
        _ body: (TestDoor) async throws -> Void
    ) async throws {
        var setup = configured(endpoints) { _ in }
        setup.authenticate = authenticate
        try await setup.run(body)
    }

    static func run(_ body: (TestDoor) async throws -> Void) async throws {
        try await configured { _ in }.run(body)
    }

    static func configured(
        _ endpoints: [Endpoint] = TestEndpoints.all, _ change: (inout DoorServerConfiguration) -> Void
    ) -> Setup {
        var setup = Setup(endpoints: endpoints)
        setup.configuration.port = 0
        setup.configuration.shutdownGrace = .seconds(1)
        change(&setup.configuration)
        return setup
    }

    struct Setup {
        var endpoints: [Endpoint]
        var configuration = DoorServerConfiguration()
        var authenticate: RequestDispatcher.Authenticate = { _ throws(Problem) in nil }
        var stillPermits: @Sendable (Principal, Set<Scope>, HTTPFields) async -> Bool = { _, _, _ in true }
        var observe: @Sendable (CompletedRequest) -> Void = { _ in }

        func run(_ body: (TestDoor) async throws -> Void) async throws {
            var logger = Logger(label: "door")
            logger.logLevel = .critical
            let server = DoorServer(
                configuration, endpoints: endpoints, logger: logger, observe: observe, stillPermits: stillPermits,
                authenticate: authenticate)
            let services = ServiceGroup(services: [server], gracefulShutdownSignals: [], logger: logger)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await services.run() }
                let port = try await server.port()
                try await body(TestDoor(port: port, server: server, services: services))
                await services.triggerGracefulShutdown()
                try await group.waitForAll()
            }
        }
    }

    func connect(readsResponses: Bool = true) async throws -> RawClient {
        try await RawClient.connect(port: port, readsResponses: readsResponses)
    }
}
