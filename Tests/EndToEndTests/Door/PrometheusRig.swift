import Commands
import Foundation
import TestSupport
import Testing

/// A Prometheus that scrapes a door once a second.
struct PrometheusRig {
    private let installation: Installation
    private let origin: String

    /// Starts it, and waits for its first scrape.
    init(_ installation: Installation, _ door: DoorRig) async throws {
        self.installation = installation
        let port = try freePort()
        origin = "http://127.0.0.1:\(port)"
        let token = try installation.directory.file("prometheus.token", Array(try door.token.utf8))
        chmod(token, 0o600)
        let configuration = """
            global: {scrape_interval: 1s, evaluation_interval: 1s}
            rule_files: ["\(Installation.repository)/deploy/monitoring/sluice-alerts.yaml"]
            scrape_configs:
              - job_name: sluice
                authorization: {type: Bearer, credentials_file: "\(token)"}
                static_configs: [{targets: ["127.0.0.1:\(door.port)"]}]
            """
        let file = try installation.directory.file("prometheus.yaml", Array(configuration.utf8))
        let child = try installation.start(
            program: #require(program("prometheus")),
            [
                "--config.file=\(file)", "--storage.tsdb.path=\(installation.directory.path)/prometheus",
                "--web.listen-address=127.0.0.1:\(port)",
            ])
        try await until("a scrape of Prometheus") {
            if let ending = child.ending { throw Missed("Prometheus ended: \(ending)\n\(child.errors)") }
            return try await !query(#"up{job="sluice"} == 1"#).isEmpty
        }
    }

    /// The series of an instant query; none while Prometheus starts.
    func query(_ expression: String) async throws -> [JSONValue] {
        let finished = try await installation.run(
            program: "/usr/bin/curl",
            ["-s", "--data-urlencode", "query=\(expression)", "\(origin)/api/v1/query"])
        guard finished.code == 0, let json = try? finished.json() else { return [] }
        if json["status"]?.string == "error" { throw Missed("\(expression): \(json)") }
        return json["data"]?["result"]?.elements ?? []
    }
}
