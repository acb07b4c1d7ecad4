package import Door
package import DoorLive

/// `/metrics`, `/healthz` and `/readyz`.
package struct MetricsPart: DoorPart {
    private let live: LivePart

    package init(_ live: LivePart) { self.live = live }

    package func endpoints(_ context: DoorContext) async throws -> [Endpoint] { [] }
}
