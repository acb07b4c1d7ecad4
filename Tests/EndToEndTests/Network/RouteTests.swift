import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Changes of routes and interfaces in the kernel take effect at once.
    @Suite(.enabled(if: NetworkBed.obstacleOfPackets == nil, "\(NetworkBed.obstacleOfPackets ?? "")"))
    struct RouteTests {
        private enum Loss: String, CaseIterable {
            case route, interface
        }

        @Test(arguments: Loss.allCases.map(\.rawValue))
        func `a destination without a route is offline at once, and its upload resumes with the route`(
            lost: String
        ) async throws {
            let directory = try TemporaryDirectory("routes")
            defer { directory.remove() }
            try await NetworkBed.with(NetworkBed.Configuration(.megabits(20)), in: directory.path) { bed in
                try await body(bed, directory, Loss(rawValue: lost) ?? .route)
            }
        }

        /// A kept connection belongs to the previous network, and does not notice the change.
        @Test func `uploads use new connections after a change of the network`() async throws {
            let directory = try TemporaryDirectory("networks")
            defer { directory.remove() }
            try await NetworkBed.with(NetworkBed.Configuration(.megabits(20)), in: directory.path) { bed in
                let destination = try await BedDestination(bed, in: directory.path)
                try await Installation.with(on: bed) { installation in
                    _ = try await installation.up()
                    let files = try (0..<4).map {
                        try directory.file("\($0).bin", [UInt8](repeating: UInt8($0), count: 20_000))
                    }
                    // Several connections, so that the next upload could try one after the other.
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
                    // Five seconds for the first connection. An idle timeout would take 30 s, and trying one
                    // connection after the other 10 to 20 s.
                    let took = (ContinuousClock.now - since).seconds
                    #expect((4.9..<9).contains(took), "\(took) s")
                    #expect(command.retries == 0)
                }
            }
        }

        private func body(_ bed: NetworkBed, _ directory: TemporaryDirectory, _ loss: Loss) async throws {
            let destination = try await BedDestination(bed, in: directory.path)
            try await Installation.with(on: bed) { installation in
                _ = try await installation.up()
                let file = try directory.file("a.bin", [UInt8](repeating: 7, count: 8_000_000))
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
                // A timeout would take ten seconds, and detection by silence two.
                #expect(ContinuousClock.now - since < .seconds(1.5))
                // Three failed connects may be as fast; the kernel's route explains more.
                try await until("the report of the kernel") {
                    try await link()?["reason"]?["rule"] == "noDefaultRoute"
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
