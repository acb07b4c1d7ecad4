import Commands
import Foundation
import Host
import TestSupport
import Testing

extension EndToEndTests {
    /// A new coordinator, on a host that reaches its destination by a route of its own and has no default route. Other
    /// moments of the same kind are unit tests: a link that is offline, an urgent decision before the first tick,
    /// several transfers that share the rate, two deaths in a row.
    @Suite(
        .tags(.measuresTime),
        .enabled(if: runsSlowTests, "slow"),
        .enabled(if: NetworkBed.obstacleOfPackets == nil, "\(NetworkBed.obstacleOfPackets ?? "")"))
    struct HandoverTests {
        private static let limit: Int64 = 500_000

        @Test(arguments: [SIGKILL, SIGTERM])
        func `transfers stay below a rate of a person when another coordinator takes over`(signal: Int32)
            async throws
        {
            let directory = try TemporaryDirectory("handover")
            defer { directory.remove() }
            let configuration = NetworkBed.Configuration(.megabits(80))
            try await NetworkBed.with(configuration, in: directory.path) { bed in
                try await bed.run(
                    in: .client, "ip", "route", "add", "10.77.1.1/32", "dev", "sluice0", "src", "10.77.0.1",
                    "congctl", configuration.congestion)
                try await bed.setRoute(false)
                let destination = try await BedDestination(bed, in: directory.path)
                try await Installation.with(on: bed) { installation in
                    let first = try await installation.coordinator()
                    _ = try await installation.worker()
                    let set = try await installation.sluice(
                        "network", "set", destination.origin, "--max-rate", "500kB")
                    #expect(set.code == 0, "\(set.errors)")
                    let files = try (0..<4).map { try directory.file("\($0).bin", []) }
                    for file in files { #expect(truncate(file, 100_000_000) == 0) }
                    _ = try await installation.sluice(
                        "put", files[0], files[1], files[2], files[3], "--to", "\(destination.origin)/put/",
                        "--protocol", "put")
                    try await until("a megabyte") { try await destination.statistics().bytes() >= 1_000_000 }
                    let death = MonotonicTime.now
                    first.signal(signal)
                    _ = await first.end
                    let second = try await installation.coordinator()
                    try await until("three megabytes at the rate") {
                        try await destination.statistics(since: death).bytes() >= 3_000_000
                    }
                    // 10 MB a second without the rate, and 1.75 times the rate with the paces of the new coordinator alone;
                    // steps of 50 ms and a busy receiver move some bytes.
                    let received = try await destination.statistics(since: death)
                    let end = MonotonicTime.now
                    for start in stride(from: 0.0, to: (end - death).seconds - 1, by: 0.25) {
                        let from = death + .seconds(start)
                        let bytes = received.bytes(from: from, to: from + .seconds(1))
                        #expect(bytes < 3 * Self.limit / 2, "\(bytes) bytes in the second from \(start) s on")
                    }
                    #expect(!second.errors.contains("noDefaultRoute"), "\(second.errors)")
                    #expect(!second.errors.contains("is offline"), "\(second.errors)")
                }
            }
        }
    }
}
