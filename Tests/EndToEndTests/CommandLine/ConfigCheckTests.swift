import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// `sluice config check`, and the refusal of a wrong configuration at the start.
    struct ConfigCheckTests {
        private static func write(_ text: String, _ installation: Installation) throws -> String {
            try installation.directory.file("sluice.yaml", Array(text.utf8))
        }

        @Test func `a configuration that the processes would read is checked without a data directory`() async throws {
            try await Installation.with { installation in
                let file = try Self.write(
                    """
                    upload: {connectTimeout: 10s}
                    network: {probeInterval: 1m}
                    schedules: {beat: {cron: "* * * * *", command: {type: noop}}}
                    """, installation)
                let checked = try await installation.sluice("config", "check", "--config", file)
                #expect(checked.code == 0, "\(checked.output)\(checked.errors)")
                #expect(checked.output.contains("can be used") && checked.output.contains("schedules"))
                #expect(!FileManager.default.fileExists(atPath: installation.data))
            }
        }

        @Test(arguments: [
            ("netwrok: {maxTransfers: 3}", "is it “network.maxTransfers”?"), ("netwrok:", "is it “network”?"),
            ("netwrok: {x: 1}", "is it a key of “network”? There are "),
            ("upload: {idelTimeout: 5}", "is it “upload.idleTimeout”?"),
            ("upload: {connectTimeout: 10x}", "a duration such as"),
            ("schedules: {beat: {cron: \"* * * *\", command: {type: noop}}}", "sluice.yaml:1"),
            ("schedules: {beat: {cron: \"* * * * *\", zone: Mars/Base, command: {type: noop}}}", "Mars/Base"),
            ("schedules: {beat: {corn: \"* * * * *\", command: {type: noop}}}", "corn"),
            (
                "schedules: {beat: {cron: \"* * * * *\", command: {type: noop, payload: {millisecond: 5}}}}",
                "millisecond"
            ),
        ])
        func `a wrong configuration is named by the check, and refused at the start`(_ text: String, _ problem: String)
            async throws
        {
            try await Installation.with { installation in
                let file = try Self.write(text, installation)
                #expect(try await installation.sluice("submit", "noop").code == 0)
                let checked = try await installation.sluice("config", "check", "--config", file)
                #expect(checked.code == 78 && checked.output.contains(problem), "\(checked.output)\(checked.errors)")
                for part in ["up", "coordinator"] {
                    let started = try await installation.sluice(part, "--config", file)
                    #expect(started.code == 78 && started.errors.contains(problem), "\(part): \(started.errors)")
                }
            }
        }

        @Test func `a misspelt variable is refused with the one that is meant`() async throws {
            try await Installation.with { installation in
                for (name, meant) in [
                    ("SLUICE_UPLOAD_IDEL_TIMEOUT", "SLUICE_UPLOAD_IDLE_TIMEOUT"),
                    ("SLUICE_NETWROK_MAX_TRANSFERS", "SLUICE_NETWORK_MAX_TRANSFERS"),
                ] {
                    let checked = try await installation.sluice("config", "check", environment: [name: "5"])
                    #expect(checked.code == 78 && checked.output.contains("is it \(meant)?"), "\(checked.output)")
                }
            }
        }
    }
}
