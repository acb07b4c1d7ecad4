import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// On a long path the send queue in the worker's kernel is short, because a cut, a pause or a higher
    /// transfer waits for it. `UploadPaceTests` shows that it is longer on loopback.
    @Suite(
        .enabled(if: NetworkBed.obstacleOfPackets == nil, "\(NetworkBed.obstacleOfPackets ?? "")"))
    struct UnsentLimitTests {
        @Test(.enabled(if: isAvailable(program("strace") != nil), "strace is not installed"))
        func `above a round trip of 5 ms high QoS leaves at most 16 KiB unsent`() async throws {
            let directory = try TemporaryDirectory("unsent")
            defer { directory.remove() }
            try await NetworkBed.with(NetworkBed.Configuration(.megabits(20)), in: directory.path) { bed in
                try await body(bed, directory)
            }
        }

        private func body(_ bed: NetworkBed, _ directory: TemporaryDirectory) async throws {
            let destination = try await BedDestination(bed, in: directory.path)
            try await Installation.with(on: bed) { installation in
                let trace = "\(directory.path)/trace"
                _ = try await installation.coordinator()
                guard try await installation.tracedWorker("-e", "trace=setsockopt", to: trace) != nil else { return }
                let file = try directory.file("a.bin", [UInt8](repeating: 7, count: 2_000_000))
                let put = try await installation.sluice(
                    "put", file, "--to", "\(destination.origin)/in/", "--protocol", "put", "--qos", "userInteractive",
                    "--wait")
                #expect(put.code == 0, "\(put.errors)")
                let limits = String(decoding: contents(of: trace) ?? [], as: UTF8.self).split(separator: "\n")
                    .filter { $0.contains("TCP_NOTSENT_LOWAT") }
                // Before the first measurement of the path, the limit is that of loopback.
                #expect(limits.first?.contains("[262144]") == true, "\(limits)")
                #expect(limits.last?.contains("[16384]") == true, "\(limits)")
            }
        }
    }
}
