import Commands
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// A destination that was never tried, beside many that never answer. Dead destinations that were tried before, other
    /// qualities of service, full slots, changed routes and new coordinators are unit tests on a virtual clock.
    @Suite(
        .tags(.measuresTime),
        .enabled(if: runsSlowTests, "slow"),
        .enabled(if: NetworkBed.obstacleOfPackets == nil, "\(NetworkBed.obstacleOfPackets ?? "")"))
    struct FirstTryTests {
        private static let dead = 200

        @Test func `a new destination starts at once beside two hundred that never answer`() async throws {
            let directory = try TemporaryDirectory("first-try")
            defer { directory.remove() }
            let configuration = NetworkBed.Configuration(.megabits(80), destinations: [nil, .megabits(80)])
            try await NetworkBed.with(configuration, in: directory.path) { bed in
                let destination = try await BedDestination(bed, in: directory.path)
                try await bed.blackout(true, destination: 2)
                try await Installation.with(on: bed) { installation in
                    _ = try await installation.coordinator()
                    _ = try await installation.worker("--concurrency", "8")
                    let store = try installation.store()
                    let file = try directory.file("a.bin", [UInt8](repeating: 7, count: 1000))
                    let lines = (0..<Self.dead).map {
                        #"{"payload":{"file":"\#(file)","to":"http://10.77.2.1:\#(1001 + $0)/a","protocol":"put"}}"#
                    }
                    let dead = try await installation.sluice(
                        "submit", "upload", "--payload", "-", input: lines.joined(separator: "\n")
                    ).ids
                    #expect(dead.count == Self.dead)
                    try await until("more tries than slots") {
                        try dead.count { try store.command($0)?.claim ?? 0 > 0 } >= 12
                    }
                    let new = try await installation.sluice(
                        "put", file, "--to", "\(destination.origin)/put/", "--protocol", "put"
                    ).ids[0]
                    let beside = try await installation.sluice("submit", "noop").ids[0]
                    let end = try await installation.await(beside, .success, in: store).updatedAt
                    let command = try await installation.await(new, .success, in: store, within: .seconds(30))
                    // 42 to 90 s, while each try held its slot for the time of a connect.
                    #expect((command.updatedAt - end).seconds < 3)
                    // A try that made way is neither charged nor in doubt.
                    for id in dead {
                        let command = try #require(try store.command(id))
                        #expect(!command.status.isFinal && command.retries == 0, "\(command)")
                    }
                }
            }
        }
    }
}
