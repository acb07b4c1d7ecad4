internal import Commands
package import Door
package import DoorLive
internal import HTTPTypes
internal import NIOCore
package import Telemetry

/// `/metrics`, `/healthz` and `/readyz`.
///
/// `/metrics` has the measurements of every process of the data directory. `/healthz` says only that the door
/// answers: a supervisor restarts it otherwise. `/readyz` says whether a load balancer may send clients here.
package final class MetricsPart: DoorPart {
    private let live: LivePart
    private let telemetry: Telemetry?
    private let more: @Sendable () -> [MetricFamily]
    private let requests = RequestMeter()
    private let coordinator = CoordinatorListener()

    /// - Parameters:
    ///   - telemetry: the measurements of this process; nil: none are shown.
    ///   - more: families of other parts of the door, such as the streams of events. It must not block.
    package init(
        _ live: LivePart, telemetry: Telemetry? = nil, more: @escaping @Sendable () -> [MetricFamily] = { [] }
    ) {
        self.live = live
        self.telemetry = telemetry
        self.more = more
    }

    package func endpoints(_ context: DoorContext) async throws -> [Endpoint] {
        let scrape = Scrape(
            context, live: live, requests: requests, coordinator: coordinator, telemetry: telemetry, more: more)
        let check = ReadinessCheck(context, coordinator: coordinator)
        var endpoints = [
            Endpoint(
                "/metrics",
                methods: [
                    .get: .init(scopes: [.metrics]) { _ in
                        Self.response(.ok, MetricsText.contentType, await scrape.text())
                    }
                ]),
            Endpoint(
                "/healthz",
                methods: [
                    .get: .init(scopes: nil) { _ in Self.response(.ok, "text/plain; charset=utf-8", Array("ok\n".utf8))
                    }
                ]),
            Endpoint(
                "/readyz",
                methods: [
                    .get: .init(scopes: nil) { request in
                        let hasDetails = await Self.maySeeDetails(request, context)
                        let readiness = await check.run()
                        return Self.response(
                            readiness.isReady ? .ok : .serviceUnavailable, "application/json",
                            Array((readiness.json(hasDetails: hasDetails).text + "\n").utf8))
                    }
                ]),
        ]
        for index in endpoints.indices {
            endpoints[index].isEssential = true
            endpoints[index].needsHost = endpoints[index].path == "/metrics"
        }
        return endpoints
    }

    package func run(_ context: DoorContext) async throws { try await coordinator.run(context) }

    package func observe(_ request: CompletedRequest) { requests.observe(request) }

    /// A request without a token, or with one that is not valid, gets the names of failed checks only.
    private static func maySeeDetails(_ request: DoorRequest, _ context: DoorContext) async -> Bool {
        guard request.fields.contains(.authorization) else { return false }
        let principal = try? await context.authenticator.authenticate(request.fields, client: request.client)
        return principal.map { !$0.scopes.isDisjoint(with: [.read, .metrics]) } ?? false
    }

    private static func response(_ status: HTTPResponse.Status, _ type: String, _ body: [UInt8]) -> Response {
        Response(
            status: status, headers: [.contentType: type, .cacheControl: "no-store"],
            body: Response.Body(byteBuffer: ByteBuffer(bytes: body)))
    }
}
