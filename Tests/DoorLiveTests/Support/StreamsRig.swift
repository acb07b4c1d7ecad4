import Door
import HTTPTypes
import Host
import Logging
import ServiceLifecycle
import Store
import TestSupport

@testable import DoorLive

/// A door with nothing but streams of events.
struct StreamsRig: Sendable {
    let live: LiveRig
    let part: LiveParts
    let port: Int
    let services: ServiceGroup

    /// The parts of a ``LivePart`` that streams use.
    struct LiveParts: Sendable {
        let registry: StreamRegistry
        let statistics: LiveStatistics
        let view = ViewHub()
    }

    static func with(_ limits: StreamLimits = StreamLimits(), _ body: (StreamsRig) async throws -> Void) async throws {
        try await LiveRig.with { live in
            let statistics = LiveStatistics()
            let part = LiveParts(registry: StreamRegistry(limits, statistics), statistics: statistics)
            let pacer = LogPacer()
            let reader = LogReader(live.queue, pacer)
            let streams = EventStreams(
                registry: part.registry, statistics: statistics, limits: limits, shardCount: live.store.shardCount,
                view: part.view, tail: LogTail(live.queue, part.registry, pacer), reader: reader)
            var configuration = DoorServerConfiguration()
            configuration.port = 0
            configuration.shutdownGrace = .seconds(20)
            var logger = Logger(label: "door")
            logger.logLevel = .critical
            let server = DoorServer(configuration, endpoints: [streams.endpoint], logger: logger) {
                request throws(Problem) in
                request.fields[.authorization].map { Principal(token: $0, name: $0, scopes: [.read]) }
            }
            let services = ServiceGroup(services: [server], gracefulShutdownSignals: [], logger: logger)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await services.run() }
                // As LivePart does.
                group.addTask {
                    while !Task.isCancelled {
                        part.registry.check(at: .now)
                        try? await Task.sleep(for: .milliseconds(20))
                    }
                }
                let rig = StreamsRig(live: live, part: part, port: try await server.port(), services: services)
                try await body(rig)
                part.registry.shutDown()
                await services.triggerGracefulShutdown()
                try await group.next()
                group.cancelAll()
            }
        }
    }

    /// Starts a client that prints the stream.
    /// - Parameter arguments: of curl.
    func client(_ query: String, token: String = "studio", _ arguments: String...) throws -> ChildProcess {
        try ChildProcess(
            ["/usr/bin/curl", "-sSN", "-i", "-H", "Authorization: \(token)"] + arguments
                + ["http://127.0.0.1:\(port)/api/v1/events\(query)"],
            environment: [:], directory: live.place.path, input: nil, terminal: nil,
            log: "\(live.place.path)/curl-\(UInt64.random(in: 0 ... .max))")
    }

    func publish(_ parts: [ViewPart: String]) {
        if part.view.publish(parts.mapValues { Array($0.utf8) }) { part.registry.wake(.view) }
    }

    /// Waits until this number of streams is open.
    func opened(_ count: Int, _ kind: StreamKind = .view) async throws {
        try await until("\(count) streams") { part.statistics[kind].subscribers == count }
    }
}

extension ChildProcess {
    /// With the ends of lines that the stream has.
    var plainOutput: String { output.replacing("\r\n", with: "\n") }
    var events: [ServerSentEvent] { ServerSentEvent.parse(plainOutput) }
}
