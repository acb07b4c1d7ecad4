import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// The reason why a destination is offline: an unknown name, a host that refuses connections, or silence.
    struct OfflineReasonTests {
        private enum Cause: String, CaseIterable {
            case name, refusal

            var words: String {
                switch self {
                case .name: "the name no-such-host.invalid cannot be resolved"
                case .refusal: "refuses connections"
                }
            }
        }

        private static func link(_ installation: Installation, to origin: String) async throws -> JSONValue? {
            try await installation.sluice("network", "--json").lines.map { try JSONValue(parsing: $0.utf8) }
                .first { $0["destination"]?.string == origin }
        }

        @Test(arguments: Cause.allCases.map(\.rawValue)) func `explain names the reason why a connect fails`(
            cause: String
        )
            async throws
        {
            let cause = try #require(Cause(rawValue: cause))
            try await Installation.with { installation in
                let gone = try await MisbehavingReceiver()
                await gone.stop()
                let origin = cause == .name ? "http://no-such-host.invalid:80" : gone.origin
                _ = try await installation.up()
                let files = try (0..<4).map { try installation.directory.file("\($0)", [1]) }
                let ids = try await installation.sluice(
                    "put", files[0], files[1], files[2], files[3], "--to", "\(origin)/in/", "--protocol", "put"
                ).ids
                try await until("the reason") {
                    let link = try await Self.link(installation, to: origin)
                    return link?["level"]?.string == "offline"
                        && link?["reason"]?["text"]?.string?.contains(cause.words) == true
                }
                let explained = try await installation.sluice("explain", "\(ids[0])").output
                #expect(explained.contains("offline") && explained.contains(cause.words), "\(explained)")
            }
        }

        @Test(.enabled(if: NetworkBed.obstacleOfPackets == nil, "\(NetworkBed.obstacleOfPackets ?? "")"))
        func `explain names the silence of a link`() async throws {
            let directory = try TemporaryDirectory("silence")
            defer { directory.remove() }
            try await NetworkBed.with(NetworkBed.Configuration(.megabits(20)), in: directory.path) { bed in
                let destination = try await BedDestination(bed, in: directory.path)
                try await Installation.with(on: bed) { installation in
                    _ = try await installation.up()
                    let file = try directory.file("a.bin", [UInt8](repeating: 7, count: 20_000_000))
                    let id = try await installation.sluice("put", file, "--to", "\(destination.origin)/tus").ids[0]
                    try await until("the first megabyte") { try await destination.statistics().bytes() >= 1_000_000 }
                    try await bed.blackout(true)
                    try await until("the reason") {
                        let link = try await Self.link(installation, to: destination.origin)
                        return link?["level"]?.string == "offline"
                            && link?["reason"]?["rule"] == "silence"
                    }
                    let explained = try await installation.sluice("explain", "\(id)").output
                    #expect(explained.contains("no byte was acknowledged for"), "\(explained)")
                }
            }
        }
    }
}
