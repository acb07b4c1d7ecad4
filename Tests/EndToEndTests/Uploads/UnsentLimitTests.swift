import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// What waits in the kernel of a worker is short where the way is long: a cut, a pause or a higher transfer waits for it.
    /// That on loopback high quality has more is in `UploadPaceTests`.
    @Suite(.enabled(if: NetworkBed.obstacleOfPackets == nil, "\(NetworkBed.obstacleOfPackets ?? "")"))
    struct UnsentLimitTests {
        @Test(.enabled(if: isAvailable(program("strace") != nil), "strace is not installed"))
        func `above a round trip of 5 ms high quality leaves 16 KiB unsent at most`() async throws {
            let place = try TemporaryDirectory("unsent")
            defer { place.remove() }
            try await NetworkBed.with(NetworkBed.Plan(.megabits(20)), in: place.path) { bed in
                try await body(bed, place)
            }
        }

        private func body(_ bed: NetworkBed, _ place: TemporaryDirectory) async throws {
            let destination = try await BedDestination(bed, in: place.path)
            try await Installation.with(on: bed) { installation in
                let trace = "\(place.path)/trace"
                _ = try await installation.coordinator()
                guard try await installation.tracedWorker("-e", "trace=setsockopt", to: trace) != nil else { return }
                let file = try place.file("a.bin", [UInt8](repeating: 7, count: 2_000_000))
                let put = try await installation.sluice(
                    "put", file, "--to", "\(destination.origin)/in/", "--protocol", "put", "--qos", "userInteractive",
                    "--wait")
                #expect(put.code == 0, "\(put.errors)")
                let limits = String(decoding: contents(of: trace) ?? [], as: UTF8.self).split(separator: "\n")
                    .filter { $0.contains("TCP_NOTSENT_LOWAT") }
                // As long as nothing is known of the way, it has what loopback needs.
                #expect(limits.first?.contains("[262144]") == true, "\(limits)")
                #expect(limits.last?.contains("[16384]") == true, "\(limits)")
            }
        }
    }
}
