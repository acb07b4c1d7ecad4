import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// What a person says to the network and hears of it.
    struct NetworkCommandTests {
        @Test(arguments: [
            ("network:\n  maxTransfer: 3\n", "network.maxTransfer"),
            ("network:\n  level:\n    poor: {utility: fast}\n", "network.level.poor.utility"),
            ("network:\n  level: high\n", "network.level"),
            ("destinations: [a]\n", "destination.a.origin"),
            ("destination: {a: {maxRate: 2Mbit}}\n", "destination.a.maxRate"),
        ])
        func `a policy that makes no sense is refused with the key`(_ yaml: String, _ key: String) async throws {
            try await Installation.with { installation in
                let file = try installation.place.file("wrong.yaml", Array(yaml.utf8))
                for part in ["up", "coordinator"] {
                    let refused = try await installation.sluice(part, "--config", file)
                    #expect(refused.code == 78, "\(part): \(refused.errors)")
                    #expect(refused.errors.contains("configuration: \(key):"), "\(refused.errors)")
                }
            }
        }

        @Test func `the environment is heard too`() async throws {
            try await Installation.with { installation in
                let refused = try await installation.sluice(
                    "coordinator", environment: ["SLUICE_NETWORK_LEVEL_POOR_UTILITY": "sometimes"])
                #expect(refused.code == 78, "\(refused.errors)")
                #expect(refused.errors.contains("network.level.poor.utility"), "\(refused.errors)")
            }
        }
    }
}
