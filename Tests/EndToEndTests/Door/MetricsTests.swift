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

        @Test func `a scrape has every process, and promtool finds no fault in it`() async throws {
            try await Installation.with { installation in
                _ = try await installation.coordinator()
                _ = try await installation.worker()
                _ = try await installation.worker()
                let door = try await DoorRig(installation)
                let bulk = String(repeating: #"{"payload":{}}"# + "\n", count: 200)
                #expect(try await installation.sluice("submit", "noop", "--payload", "-", input: bulk).ids.count == 200)
                _ = try await door.curl("-d", "some bytes", "\(door.endpoint)?name=a")
                try await installation.drained(try installation.store())
                let scrape = try await awaited("the executions of both workers") { () -> MetricsScrape? in
                    let scrape = try await door.scrape()
                    let done = scrape.sum("sluice_execution_seconds_count", [#"outcome="success""#])
                    return done == 200 ? scrape : nil
                }
                let processes = ["coordinator", "door", "worker-0", "worker-1"].map { #"process="\#($0)""# }
                for process in processes { #expect(scrape.sum("process_resident_memory_bytes", [process]) > 1_000_000) }
                #expect(scrape.sum("sluice_commands_dispatched_total") >= 200)
                #expect(scrape.sum("sluice_transitions_total", [#"status="success""#]) == 200)
                #expect(scrape.sum("sluice_wait_seconds_count") == 200)
                #expect(scrape.sum("sluice_commit_rows_sum", [#"role="worker""#]) >= 400)
                #expect(scrape.sum("sluice_commands", [#"status="success""#, #"qos="default""#]) == 200)
                #expect(scrape.sum("sluice_workers", [#"state="ready""#]) == 2)
                #expect(scrape.sum("sluice_coordinator_up") == 1 && scrape.sum("sluice_store_up") == 1)
                #expect(scrape.sum("sluice_upload_received_bytes_total", [#"protocol="plain""#]) == 10)
                #expect(scrape.sum("sluice_uploads_total", [#"outcome="complete""#]) == 1)
                #expect(
                    scrape.sum("http_server_request_duration_seconds_count", [#"http_route="/uploads""#]) == 1)
                #expect(scrape.sum("sluice_wal_bytes") >= 0 && scrape.names.contains("sluice_wal_bytes"))
                // Neither ids nor the token may be in a label.
                #expect(!scrape.text.contains(try door.token) && !scrape.text.contains("slu_"))
                #expect(scrape.text.firstMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-7/) == nil)

                if let promtool = Self.promtool {
                    let checked = try await installation.run(
                        program: promtool, ["check", "metrics"], input: Array(scrape.text.utf8))
                    #expect(checked.code == 0, "\(checked.output)\(checked.errors)")
                }
            }
        }

        @Test func `a worker that was killed disappears, and its death is counted`() async throws {
            try await Installation.with { installation in
                _ = try await installation.coordinator()
                _ = try await installation.worker()
                let second = try await installation.worker()
                let door = try await DoorRig(installation)
                let process = #"process="worker-1""#
                try await until("the second worker") {
                    try await door.scrape().sum("process_open_fds", [process]) > 0
                }
                second.signal(SIGKILL)
                // 15 s after its last report.
                let scrape = try await awaited("its end") { () -> MetricsScrape? in
                    let scrape = try await door.scrape()
                    let deaths = scrape.sum("sluice_worker_deaths_total", [#"cause="crash""#])
                    return scrape.text.contains(process) || deaths == 0 ? nil : scrape
                }
                #expect(scrape.sum("sluice_worker_deaths_total") == 1)
                #expect(scrape.sum("process_open_fds", [#"process="worker-0""#]) > 0)
            }
        }

        @Test func `a failure is counted by its fault, and a release by its cause`() async throws {
            try await Installation.with { installation in
                _ = try await installation.coordinator()
                _ = try await installation.worker()
                let door = try await DoorRig(installation)
                // The door has no such resource, and nothing listens at the other port.
                for url in ["\(door.origin)/none", "http://127.0.0.1:\(try freePort())/"] {
                    #expect(try await installation.sluice("request", url).code == 0)
                }
                let scrape = try await awaited("both") { () -> MetricsScrape? in
                    let scrape = try await door.scrape()
                    let isCharged = scrape.sum("sluice_failures_charged_total", [#"fault="final""#]) == 1
                    return isCharged && scrape.sum("sluice_released_total", [#"cause="link""#]) > 0 ? scrape : nil
                }
                #expect(scrape.sum("sluice_failures_charged_total") == 1)
                #expect(
                    scrape.sum("sluice_execution_seconds_count", [#"type="request""#, #"outcome="tooManyTimes""#]) == 1)
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
                let probe = try SQLiteProbe("\(installation.data)/shard-00.sqlite")
                try probe.run("BEGIN IMMEDIATE")
                try await until("a failed commit") {
                    let failed = try await door.ready().json["failed"]?.elements ?? []
                    return failed.contains("commit")
                }
                #expect(try await door.curl("\(door.origin)/healthz", within: .seconds(5)).output == "ok\n")
                #expect(try await door.scrape().sum("sluice_store_up") == 1)
                try probe.run("ROLLBACK")
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
                let bulk = String(repeating: #"{"payload":{}}"# + "\n", count: 50)
                _ = try await installation.sluice("submit", "noop", "--payload", "-", input: bulk)
                _ = try await door.curl("-d", "some bytes", "\(door.endpoint)?name=a")
                try await until("the execution of all in Prometheus") {
                    let found = try await prometheus.query(#"sum(sluice_transitions_total{status="success"})"#)
                    return found.first?["value"]?.elements?.last == "50"
                }
                // The worker reports every 5 s, and two samples make a rate.
                try await until("the rate of executions") {
                    try await prometheus.query("rate(sluice_execution_seconds_count[30s])").isEmpty == false
                }
                let queries = try Self.queries()
                #expect(queries.count > 50)
                let known = try await door.scrape().names
                for query in queries {
                    let found = try await prometheus.query(query)
                    let isKnownEmpty = Self.knownEmpty.contains { query.contains($0) }
                    #expect(
                        !found.isEmpty || isKnownEmpty || query.contains(" > ") || query.contains(" < ")
                            || query.contains(" == 0"), "\(query)")
                    for name in Self.names(in: query) {
                        #expect(known.contains(name) || Self.knownEmpty.contains(name), "\(name) in \(query)")
                    }
                }
                #expect(try await prometheus.query(#"up{job="sluice"} == 1"#).count == 1)
            }
        }

        /// Names that have no series where no link carries anything, nothing fails, and no certificate is used.
        private static let knownEmpty = [
            "sluice_link_level", "sluice_link_limit", "sluice_link_in_flight", "sluice_link_goodput_bytes_per_second",
            "sluice_link_round_trip_seconds", "sluice_upload_errors_total", "sluice_failures_charged_total",
            "sluice_released_total", "sluice_worker_deaths_total", "sluice_door_bad_requests_total",
            "sluice_door_connections_expired_total", "sluice_tls_certificate_not_after_seconds",
            "sluice_checkpoint_seconds_bucket",
        ]

        private static var promtool: String? { program("promtool") }

        private static func text(_ name: String) throws -> String {
            String(decoding: try #require(contents(of: "\(directory)/\(name)")), as: UTF8.self)
        }

        /// Every expression of the dashboard and of the rules, for the Prometheus of a test.
        private static func queries() throws -> [String] {
            let dashboard = try JSONValue(parsing: Array(try text("sluice-dashboard.json").utf8))
            let targets = (dashboard["panels"]?.elements ?? []).flatMap { $0["targets"]?.elements ?? [] }
            let rules = try text("sluice-alerts.yaml").components(separatedBy: "expr:").dropFirst().map { rule in
                let lines = rule.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
                let end = lines.firstIndex { $0.hasPrefix("for:") || $0.hasPrefix("labels:") } ?? lines.endIndex
                return lines[..<end].filter { $0 != ">-" }.joined(separator: " ")
            }
            return (targets.compactMap { $0["expr"]?.string } + rules).map {
                $0.replacing("$__rate_interval", with: "30s").replacing("$instance", with: ".*")
            }
        }

        private static func names(in query: String) -> [String] {
            query.matches(of: /\b(sluice|http_server|process)_[a-z_]+/).map { String($0.0) }
        }
    }
}
