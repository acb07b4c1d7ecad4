import Commands
import Foundation
import Glibc
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Schedules in `sluice.yaml`, which the coordinator applies at its start.
    struct ConfiguredScheduleTests {
        private func configure(_ installation: Installation, _ text: String) throws {
            let path = "\(installation.data)/sluice.yaml"
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            chmod(path, 0o600)
        }

        private func stop(_ up: ChildProcess) async throws {
            up.signal(SIGTERM)
            _ = try await up.end(within: .seconds(30))
        }

        @Test func `schedules of the file come, change and go, and those of a person stay`() async throws {
            try await Installation.with { installation in
                #expect(
                    try await installation.sluice("schedule", "put", "mine", "@daily", "noop").code == 0)
                let store = try installation.store()
                func configured() throws -> [String] {
                    try store.schedules().filter(\.isConfigured).map(\.name)
                }
                try configure(
                    installation,
                    """
                    network: {level: {good: {limit: 32}}}
                    schedules:
                      zone: Europe/Berlin
                      beat: {cron: "* * * * * *", command: {type: noop}}
                      weekly: {cron: "0 0 * * 1", zone: UTC, flow: {nodes: {x: {type: noop}, y: {type: noop, after: x}}}}
                      mine: {cron: "@daily", zone: UTC, command: {type: noop}}
                    """)
                var up = try await installation.up()
                try await until("the schedules") { try configured() == ["beat", "weekly"] }
                #expect(try store.schedule("beat")?.definition.zone == "Europe/Berlin")
                #expect(try store.schedule("weekly")?.definition.zone == "UTC")
                try await until("a time that fires") { try (store.schedule("beat")?.state.fired ?? 0) > 1 }
                #expect(try await installation.sluice("schedule", "pause", "weekly").code == 0)
                let shown = try await installation.sluice("schedule", "show", "weekly")
                #expect(shown.output.contains("sluice.yaml"))
                try await stop(up)

                // A person takes over one of them.
                #expect(
                    try await installation.sluice("schedule", "put", "beat", "@hourly", "noop").code == 0)
                try configure(
                    installation,
                    """
                    schedules:
                      weekly: {cron: "0 0 * * 2", zone: UTC, flow: {nodes: {x: {type: noop}, y: {type: noop, after: x}}}}
                      extra: {cron: "@daily", command: {type: noop}}
                    """)
                up = try await installation.up()
                try await until("the change") { try configured() == ["extra", "weekly"] }
                try await until("its text") {
                    try store.schedule("weekly")?.definition.expression.text == "0 0 * * 2"
                }
                #expect(try store.schedule("weekly")?.state.paused == true)
                #expect(try store.schedules().map(\.name) == ["beat", "extra", "mine", "weekly"])
                try await stop(up)

                try configure(installation, "schedules:\n")
                up = try await installation.up()
                try await until("the removal") { try store.schedules().map(\.name) == ["beat", "mine"] }
                try await stop(up)
            }
        }

        /// A worker may make the type known, so that the schedule is applied later.
        @Test func `a type that no worker runs names its line, changes nothing, and keeps no command from running`()
            async throws
        {
            try await Installation.with { installation in
                let problem = "sluice.yaml:2: schedule “bad”: no worker runs"
                #expect(try await installation.sluice("submit", "noop").code == 0)
                try configure(installation, "schedules:\n  bad: {cron: '@daily', command: {type: nope}}")
                let up = try await installation.up()
                let wait = try await installation.sluice("submit", "noop", "--wait")
                #expect(wait.code == 0, "\(wait.errors)")
                try await until("the log line") { up.errors.contains(problem) }
                #expect(try installation.store().schedules().isEmpty)
                let doctor = try await installation.sluice("doctor")
                #expect(doctor.code == 1 && doctor.output.contains(problem), "\(doctor.output)")
            }
        }

        @Test(arguments: [
            (
                "schedules:\n  good: {cron: '@daily', command: {type: noop}}\n  bad:\n    cron: '61 * * * *'",
                "sluice.yaml:4: schedule “bad”, key “cron”"
            ),
            ("schedules:\n  zone: 3", "sluice.yaml:2: “schedules.zone” is a number"),
            (
                "schedules:\n  zone: Europe/Pariss\n  bad: {cron: '@daily', command: {type: noop}}",
                "sluice.yaml:3: schedule “bad”"
            ),
            ("upload: {idleTimeout: 30}\nschedules: [a]", "sluice.yaml:2: “schedules” must be a mapping"),
        ])
        func `a mistake names its line, and is refused at the start`(_ text: String, _ problem: String) async throws {
            try await Installation.with { installation in
                #expect(try await installation.sluice("submit", "noop").code == 0)
                try configure(installation, text)
                let up = try await installation.sluice("up")
                #expect(up.code == 78 && up.errors.contains(problem), "\(up.errors)")
                #expect(try installation.store().schedules().isEmpty)
                let doctor = try await installation.sluice("doctor")
                #expect(doctor.code == 1 && doctor.output.contains(problem), "\(doctor.output)")
            }
        }
    }
}
