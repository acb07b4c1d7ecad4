package import Commands
import Foundation

/// The dashboard and the rules that are delivered for Prometheus.
package struct MonitoringFiles: Sendable {
    /// A query of a panel.
    package struct Target: Sendable {
        package var panel: String
        package var expression: String
        package var legend: String

        /// The labels that the legend shows.
        package var legendLabels: [String] { legend.matches(of: /{{([a-z_]+)}}/).map { String($0.1) } }
    }

    package let directory: String
    /// Rows as well.
    package let panels: [JSONValue]
    /// Of the rules.
    package let rules: [String]

    /// - Parameter repository: the root of the sources.
    package init(repository: String) throws {
        directory = "\(repository)/deploy/monitoring"
        let dashboard = try String(contentsOfFile: "\(directory)/sluice-dashboard.json", encoding: .utf8)
        panels = try JSONValue(parsing: Array(dashboard.utf8))["panels"]?.elements ?? []
        let text = try String(contentsOfFile: "\(directory)/sluice-alerts.yaml", encoding: .utf8)
        rules = text.components(separatedBy: "expr:").dropFirst().map { rule in
            let lines = rule.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            let end = lines.firstIndex { $0.hasPrefix("for:") || $0.hasPrefix("labels:") } ?? lines.endIndex
            return lines[..<end].filter { $0 != ">-" }.joined(separator: " ")
        }
    }

    package var targets: [Target] {
        panels.flatMap { panel in
            (panel["targets"]?.elements ?? []).map { target in
                Target(
                    panel: panel["title"]?.string ?? "", expression: target["expr"]?.string ?? "",
                    legend: target["legendFormat"]?.string ?? "")
            }
        }
    }

    /// The series that an expression names.
    package static func names(in expression: String) -> [String] {
        expression.matches(of: /\b(sluice|http_server|process)_[a-z_]+/).map { String($0.0) }
    }
}
