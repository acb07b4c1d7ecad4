import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// `/metrics`, `/healthz` and `/readyz` of a running system.
    @Suite struct MetricsTests {
        private static let directory = "\(Installation.repository)/deploy/monitoring"

        // MARK: Metrics

        /// Makes each kind of work once: no-ops, an upload, a command of the API, a schedule, and executions that download,
        /// fail and are released.
        private func work(_ installation: Installation, _ door: DoorRig) async throws {
            let bulk = String(repeating: #"{"payload":{}}"# + "\n", count: 200)
            #expect(try await installation.sluice("submit", "noop", "--payload", "-", input: bulk).ids.count == 200)
            _ = try await door.curl("-d", "some bytes", "\(door.endpoint)?name=a")
            _ = try await door.curl(
                "-H", "Content-Type: application/json", "-d", #"{"type":"noop","payload":{}}"#,
                "\(door.origin)/api/v1/commands")
            _ = try await door.curl("-H", "Host: other.example.com", "\(door.origin)/")
            #expect(
                try await installation.sluice("schedule", "put", "often", "@every 1s", "noop", "--payload", "{}").code
                    == 0)
            let file = "\(installation.directory.path)/health"
            #expect(try await installation.sluice("get", "\(door.origin)/healthz", "--to", file).code == 0)
            // The door has no such resource, and nothing listens at the other port.
            for url in ["\(door.origin)/none", "http://127.0.0.1:\(try freePort())/"] {
                #expect(try await installation.sluice("request", url).code == 0)
            }
        }

        @Test func `a scrape has every process and all work, and promtool finds no fault in it`() async throws {
            try await Installation.with { installation in
                _ = try await installation.coordinator()
                _ = try await installation.worker()
                let second = try await installation.worker()
                let door = try await DoorRig(installation)
                try await work(installation, door)
                let scrape = try await awaited("the executions of both workers") { () -> MetricsScrape? in
                    let scrape = try await door.scrape()
                    let done = scrape.sum("sluice_execution_seconds_count", [#"type="noop""#, #"outcome="success""#])
                    let isWhole =
                        done > 201 && scrape.sum("sluice_failures_charged_total", [#"fault="final""#]) == 1
                        && scrape.sum("sluice_released_total", [#"cause="link""#]) > 0
                        && scrape.sum("sluice_link_bytes_total") > 0
                    return isWhole ? scrape : nil
                }
                let processes = ["coordinator", "door", "worker-0", "worker-1"].map { #"process="\#($0)""# }
                for process in processes { #expect(scrape.sum("process_resident_memory_bytes", [process]) > 1_000_000) }
                #expect(scrape.sum("sluice_commands_dispatched_total") >= 200)
                #expect(scrape.sum("sluice_transitions_total", [#"status="success""#]) > 200)
                #expect(scrape.sum("sluice_wait_seconds_count") > 200)
                #expect(scrape.sum("sluice_commit_rows_sum", [#"role="worker""#]) >= 400)
                for role in ["coordinator", "door", "worker"] {
                    #expect(scrape.sum("sluice_commit_seconds_count", [#"role="\#(role)""#]) > 0, "\(role)")
                }
                #expect(scrape.sum("sluice_commands", [#"status="success""#, #"qos="default""#]) > 200)
                #expect(scrape.sum("sluice_workers", [#"state="ready""#]) == 2)
                #expect(scrape.sum("sluice_coordinator_up") == 1 && scrape.sum("sluice_store_up") == 1)
                #expect(scrape.sum("sluice_wal_bytes") >= 0 && scrape.names.contains("sluice_wal_bytes"))
                // Uploads
                #expect(scrape.sum("sluice_upload_received_bytes_total", [#"protocol="plain""#]) == 10)
                #expect(scrape.sum("sluice_upload_durable_bytes_total") == 10)
                #expect(scrape.sum("sluice_uploads_total", [#"outcome="complete""#]) == 1)
                #expect(scrape.sum("sluice_upload_seconds_count") == 1)
                #expect(
                    scrape.sum("http_server_request_duration_seconds_count", [#"http_route="/uploads""#]) == 1)
                // Submits
                let type = #"type="noop""#
                #expect(scrape.sum("sluice_commands_submitted_total", [type, #"source="api""#]) == 1)
                #expect(scrape.sum("sluice_commands_submitted_total", [type, #"source="schedule""#]) > 0)
                // The answer of /healthz
                let link = #"link="\#(door.origin)""#
                let bytes = scrape.sum("sluice_link_bytes_total", [link, #"direction="down""#, #"class="middle""#])
                #expect(bytes == 3 && scrape.sum("sluice_link_bytes_total") == 3)
                #expect(scrape.sum("sluice_link_level", [link, #"direction="up""#]) == 1)
                #expect(scrape.sum("sluice_failures_charged_total") == 1)
                #expect(
                    scrape.sum("sluice_execution_seconds_count", [#"type="request""#, #"outcome="tooManyTimes""#]) == 1)
                #expect(scrape.sum("sluice_door_bad_requests_total", [#"reason="unknown-host""#]) == 1)
                // Neither ids nor the token may be in a label.
                #expect(!scrape.text.contains(try door.token) && !scrape.text.contains("slu_"))
                #expect(scrape.text.firstMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-7/) == nil)

                if let promtool = Self.promtool {
                    let checked = try await installation.run(
                        program: promtool, ["check", "metrics"], input: Array(scrape.text.utf8))
                    #expect(checked.code == 0, "\(checked.output)\(checked.errors)")
                }

                #expect(scrape.sum("sluice_worker_deaths_total") == 0)
                second.signal(SIGKILL)
                try await until("the death") {
                    try await door.scrape().sum("sluice_worker_deaths_total", [#"cause="crash""#]) == 1
                }
                #expect(try await door.scrape().sum("sluice_worker_deaths_total") == 1)
            }
        }

        @Test func `metrics need a token of their scope`() async throws {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                func status(_ path: String, scope: String?) async throws -> String {
                    var arguments = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "\(door.origin)\(path)"]
                    if let scope {
                        let made = try await installation.sluice("token", "create", scope, "--scope", scope)
                        arguments += ["-H", "Authorization: Bearer \(try #require(made.lines.first))"]
                    }
                    return try await installation.run(program: "/usr/bin/curl", arguments).output
                }
                #expect(try await status("/metrics", scope: nil) == "401")
                #expect(try await status("/metrics", scope: "read") == "403")
                #expect(try await status("/metrics", scope: "metrics") == "200")
                #expect(try await status("/healthz", scope: nil) == "200")
            }
        }

        @Test func `a load balancer asks for the health by HTTP 1.0 without Host`() async throws {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                for (path, expected) in [("/healthz", "200"), ("/readyz", "503"), ("/metrics", "400")] {
                    let answer = try await door.curl(
                        "--http1.0", "-H", "Host:", "-o", "/dev/null", "-w", "%{http_code}", "\(door.origin)\(path)")
                    #expect(answer.output == expected, "\(path): \(answer)")
                }
            }
        }

        // MARK: Health

        @Test func `the door is ready once the coordinator is heard, and names only failed checks`() async throws {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                let before = try await door.ready()
                #expect(before.status == 503 && before.json["failed"] == ["coordinator"], "\(before)")
                #expect(before.json["details"] == nil)
                let detailed = try await door.ready(withToken: true)
                #expect(detailed.json["details"]?["coordinator"]?.string?.contains("sluice status") == true)
                let coordinator = try await installation.coordinator()
                try await until("the coordinator is heard") { try await door.ready().status == 200 }
                #expect(try await door.ready().json["failed"] == [])
                coordinator.signal(SIGSTOP)
                try await until("its silence") { try await door.ready().json["failed"] == ["coordinator"] }
                coordinator.signal(SIGCONT)
                try await until("the coordinator is heard again") { try await door.ready().status == 200 }
            }
        }

        @Test func `the door is alive and not ready while the store is locked`() async throws {
            try await Installation.with { installation in
                _ = try await installation.coordinator()
                let door = try await DoorRig(installation)
                try await until("the coordinator is heard") { try await door.ready().status == 200 }
                let lock = try await ShardLock(0, of: installation)
                try await until("a failed commit") {
                    let failed = try await door.ready().json["failed"]?.elements ?? []
                    return failed.contains("commit")
                }
                #expect(try await door.curl("\(door.origin)/healthz", within: .seconds(5)).output == "ok\n")
                #expect(try await door.scrape().sum("sluice_store_up") == 1)
                try await lock.release()
                try await until("a commit") { try await door.ready().status == 200 }
            }
        }

        // MARK: Prometheus

        @Test(.enabled(if: isAvailable(promtool != nil), "promtool"))
        func `the rules are valid, each one fires on its series, and names a command to type`() async throws {
            try await Installation.with { installation in
                let promtool = try #require(Self.promtool)
                for arguments in [
                    ["check", "rules", "sluice-alerts.yaml"], ["test", "rules", "sluice-alerts-test.yaml"],
                ] {
                    let path = "\(Self.directory)/\(arguments[2])"
                    let finished = try await installation.run(program: promtool, arguments.dropLast() + [path])
                    #expect(finished.code == 0, "\(finished.output)\(finished.errors)")
                }
                let rules = try Self.text("sluice-alerts.yaml")
                let runbooks = rules.components(separatedBy: "runbook:").dropFirst()
                #expect(runbooks.count == rules.components(separatedBy: "- alert:").count - 1)
                let help = try await installation.sluice("--help").output
                for runbook in runbooks {
                    let names = runbook.matches(of: /“sluice ([a-z]+)/).map { String($0.1) }
                    #expect(!names.isEmpty && names.allSatisfy { help.contains("  \($0) ") }, "\(runbook)")
                }
            }
        }

        @Test(.enabled(if: isAvailable(program("prometheus") != nil), "prometheus"))
        func `a real Prometheus answers every query of the dashboard and of the rules`() async throws {
            try await Installation.with { installation in
                _ = try await installation.coordinator()
                _ = try await installation.worker()
                let door = try await DoorRig(installation)
                let prometheus = try await PrometheusRig(installation, door)
                try await work(installation, door)
                // Workers report every 5 s, and two samples make a rate.
                for series in [
                    "sluice_link_bytes_total", #"sluice_released_total{cause="link"}"#, "sluice_transitions_total",
                    #"sluice_commands_submitted_total{source="schedule"}"#,
                ] {
                    try await until("the rate of \(series)") {
                        try await prometheus.query("rate(\(series)[30s])").isEmpty == false
                    }
                }
                let files = try MonitoringFiles(repository: Installation.repository)
                let known = try await door.scrape().names
                for target in files.targets {
                    let found = try await prometheus.query(Self.query(target.expression))
                    let isKnownEmpty = Self.knownEmpty.contains { target.expression.contains($0) }
                    #expect(!found.isEmpty || isKnownEmpty, "\(target)")
                    for series in found {
                        let labels = Set((series["metric"]?.members ?? []).map(\.name))
                        // The links beyond the first 200 have no direction.
                        #expect(labels.isSuperset(of: target.legendLabels), "\(target): \(series)")
                    }
                }
                for rule in files.rules { _ = try await prometheus.query(Self.query(rule)) }
                for name in Set((files.targets.map(\.expression) + files.rules).flatMap(MonitoringFiles.names)) {
                    #expect(known.contains(name) || Self.knownEmpty.contains(name), "\(name)")
                }
                #expect(try await prometheus.query(#"up{job="sluice"} == 1"#).count == 1)
            }
        }

        /// Names that have no series where a link is too short for a round trip, the door has no certificate, no write-ahead log
        /// is checkpointed, and the store has no server.
        private static let knownEmpty = [
            "sluice_link_round_trip_seconds", "sluice_tls_certificate_not_after_seconds",
            "sluice_checkpoint_seconds_bucket", "sluice_store_commit_seconds_bucket", "sluice_store_round_trips_total",
            "sluice_store_repeats_total", "sluice_store_connections_lost_total", "sluice_store_relation_loads_total",
            "sluice_store_oldest_transaction_age_seconds",
        ]

        /// An expression for the Prometheus of a test.
        private static func query(_ expression: String) -> String {
            expression.replacing("$__rate_interval", with: "30s").replacing("$instance", with: ".*")
        }

        private static var promtool: String? { program("promtool") }

        private static func text(_ name: String) throws -> String {
            String(decoding: try #require(contents(of: "\(directory)/\(name)")), as: UTF8.self)
        }
    }
}
