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

        /// A connection that was kept belongs to a network that is gone, and says nothing of it.
        @Test func `after a change of networks uploads go over new connections`() async throws {
            let place = try TemporaryDirectory("networks")
            defer { place.remove() }
            try await NetworkBed.with(NetworkBed.Plan(.megabits(20)), in: place.path) { bed in
                let destination = try await BedDestination(bed, in: place.path)
                try await Installation.with(on: bed) { installation in
                    _ = try await installation.up()
                    let files = try (0..<4).map {
                        try place.file("\($0).bin", [UInt8](repeating: UInt8($0), count: 20_000))
                    }
                    // Several connections, so that the next upload would meet one after the other.
                    _ = try await installation.sluice(
                        "put", files[0], files[1], files[2], files[3], "--to", "\(destination.origin)/put/", "--wait")
                    let connections = Set(try await destination.statistics().requests.map(\.clientPort))
                    #expect(connections.count > 1)
                    try await bed.setAddress("10.77.0.9")
                    let since = ContinuousClock.now
                    let id = try await installation.sluice("put", files[0], "--to", "\(destination.origin)/put/late")
                        .ids[0]
                    let command = try await installation.await(
                        id, .success, in: try installation.store(), within: .seconds(60))
                    // Five seconds for the first connection. An idle time-out would take 30, and one after the other 10 to 20.
                    let took = (ContinuousClock.now - since).seconds
                    #expect((4.9..<9).contains(took), "\(took) s")
                    #expect(command.retries == 0)
                }
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
