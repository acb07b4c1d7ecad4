import Commands
import Foundation
import Telemetry
import TestSupport
import Testing

/// Checks of the dashboard and the rules that need no Grafana. A test of the whole system asks a Prometheus.
struct MonitoringFilesTests {
    private static let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

    private let files: MonitoringFiles

    init() throws { files = try MonitoringFiles(repository: Self.repository) }

    /// Of Grafana's identifiers of units, those that fit a metric of Sluice.
    private static let units: Set<String> = [
        "none", "short", "s", "bytes", "Bps", "ops", "reqps", "percentunit",
    ]

    @Test func `the panels of the dashboard fill the grid and do not overlap`() throws {
        var cells: Set<[Int]> = []
        var ids: Set<Int> = []
        var end = 0
        for panel in files.panels {
            let title = panel["title"]?.string ?? ""
            #expect(ids.insert(Int(try #require(panel["id"]?.integer))).inserted, "\(title)")
            func value(_ name: String) throws -> Int { Int(try #require(panel["gridPos"]?[name]?.integer)) }
            let (x, y, width, height) = (try value("x"), try value("y"), try value("w"), try value("h"))
            #expect(x >= 0 && x + width <= 24 && width > 0 && height > 0, "\(title)")
            for column in x..<x + width {
                for row in y..<y + height { #expect(cells.insert([column, row]).inserted, "\(title)") }
            }
            end = max(end, y + height)
        }
        #expect(cells.count == 24 * end)
    }

    @Test func `each panel has queries, a description and a unit that Grafana knows`() throws {
        for panel in files.panels where panel["type"]?.string != "row" {
            let title = panel["title"]?.string ?? ""
            #expect(["stat", "timeseries", "state-timeline"].contains(panel["type"]?.string), "\(title)")
            #expect(panel["description"]?.string?.isEmpty == false, "\(title)")
            let unit = panel["fieldConfig"]?["defaults"]?["unit"]?.string ?? ""
            #expect(Self.units.contains(unit), "\(title): \(unit)")
            let targets = panel["targets"]?.elements ?? []
            let names = targets.compactMap { $0["refId"]?.string }
            #expect(!targets.isEmpty && Set(names).count == targets.count, "\(title)")
            for source in [panel] + targets {
                #expect(source["datasource"]?["uid"]?.string == "${DS_PROMETHEUS}", "\(title)")
            }
        }
    }

    @Test func `plots begin at zero, and a number has the colours of its own thresholds`() throws {
        for panel in files.panels {
            let title = panel["title"]?.string ?? ""
            let defaults = panel["fieldConfig"]?["defaults"]
            switch panel["type"]?.string {
            case "timeseries": #expect(defaults?["min"]?.integer == 0, "\(title)")
            // The thresholds of Grafana make 80 of anything red.
            case "stat": #expect(defaults?["thresholds"]?["steps"]?.elements?.isEmpty == false, "\(title)")
            default: break
            }
        }
    }

    @Test func `a legend shows labels that its query keeps`() {
        for target in files.targets {
            // The first grouping is the outermost one; a quantile uses up “le”.
            let groups = target.expression.firstMatch(of: /by \(([a-z_, ]+)\)/)?.1 ?? ""
            let kept = Set(groups.split(separator: ", ").map(String.init)).subtracting(["le"])
            #expect(Set(target.legendLabels) == kept, "\(target.panel): \(target.expression)")
        }
    }

    @Test func `every query names metrics that exist, and each counter within a rate`() {
        for expression in files.targets.map(\.expression) + files.rules {
            let names = MonitoringFiles.names(in: expression)
            #expect(!names.isEmpty || expression.contains("up{"), "\(expression)")
            for name in names {
                let family = name.replacing(/_(bucket|sum|count)$/, with: "")
                #expect(MetricCatalog.names.contains(name) || MetricCatalog.names.contains(family), "\(name)")
                // The sum of counters falls when a process ends; the sum of their rates does not.
                let isCounter = name.hasSuffix("_total") || name != family
                let isInRate = expression.contains("rate(\(name)") || expression.contains("increase(\(name)")
                #expect(!isCounter || isInRate, "\(name) in \(expression)")
            }
        }
    }

    @Test func `every metric is on the dashboard or in a rule`() {
        let used = Set((files.targets.map(\.expression) + files.rules).flatMap(MonitoringFiles.names)).map {
            $0.replacing(/_(bucket|sum|count)$/, with: "")
        }
        // Whether the store could be read is a part of each scrape, and the reload of a file is in the log.
        let unused: Set = ["sluice_store_up", "sluice_config_reload_success"]
        #expect(MetricCatalog.names.subtracting(used).subtracting(unused).isEmpty)
    }
}
