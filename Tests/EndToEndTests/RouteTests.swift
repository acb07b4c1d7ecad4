import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// What the kernel says of routes and interfaces counts at once.
    @Suite(.enabled(if: NetworkBed.obstacleOfPackets == nil, "\(NetworkBed.obstacleOfPackets ?? "")"))
    struct RouteTests {
        private enum Loss: String, CaseIterable {
            case route, interface
        }

        @Test(arguments: Loss.allCases.map(\.rawValue))
        func `without a route a destination is offline at once, and its upload goes on when it is back`(
            lost: String
        ) async throws {
            let place = try TemporaryDirectory("routes")
            defer { place.remove() }
            try await NetworkBed.with(NetworkBed.Plan(.megabits(20)), in: place.path) { bed in
                try await body(bed, place, Loss(rawValue: lost) ?? .route)
            }
        }

        private func body(_ bed: NetworkBed, _ place: TemporaryDirectory, _ loss: Loss) async throws {
            let destination = try await BedDestination(bed, in: place.path)
            try await Installation.with(on: bed) { installation in
                _ = try await installation.up()
                let file = try place.file("a.bin", [UInt8](repeating: 7, count: 8_000_000))
                let id = try await installation.sluice("put", file, "--to", "\(destination.origin)/tus").ids[0]
                try await until("the first megabyte") { try await destination.statistics().bytes() >= 1_000_000 }
                func link() async throws -> JSONValue? {
                    try await installation.sluice("network", "--json").lines.map { try JSONValue(parsing: $0.utf8) }
                        .first { $0["destination"]?.string == destination.origin }
                }
                #expect(try await link()?["level"]?.string != "offline")
                let since = ContinuousClock.now
                switch loss {
                case .route: try await bed.setRoute(false)
                case .interface: try await bed.setInterface(false)
                }
                try await until("the level") { try await link()?["level"]?.string == "offline" }
                // A time-out would take ten seconds, and silence two.
                #expect(ContinuousClock.now - since < .seconds(1.5))
                // Three connects that failed may have been as fast; what the kernel says of the route tells more.
                try await until("the kernel's word") {
                    try await link()?["reason"]?.string?.contains("there is no default route") ?? false
                }

                switch loss {
                case .route: try await bed.setRoute(true)
                case .interface: try await bed.setInterface(true)
                }
                let command = try await installation.await(
                    id, .success, in: try installation.store(), within: .seconds(30))
                #expect(command.retries == 0)
                #expect(try await destination.statistics().bytes() <= 8_000_000 + 256 << 10)
            }
        }
    }
}
