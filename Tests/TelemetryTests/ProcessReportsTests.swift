import Host
import Testing

@testable import Telemetry

struct ProcessReportsTests {
    private let start = MonotonicTime.zero + .seconds(100)

    private func report(_ value: Double, round: Int64 = 1, part: Int = 0, of parts: Int = 1) -> MetricsReport {
        MetricsReport(
            round: round, part: part, parts: parts,
            families: [MetricFamily("a", .gauge, [MetricSample(value, [MetricLabel("part", "\(part)")])])])
    }

    private func values(_ reports: ProcessReports, at time: MonotonicTime) -> [String: [Double]] {
        Dictionary(
            uniqueKeysWithValues: reports.families(now: time).map { process, families in
                (
                    process,
                    families.flatMap(\.samples).map { if case .number(let number) = $0.value { number } else { -1 } }
                )
            })
    }

    @Test func `a process is shown by its newest whole report`() {
        var reports = ProcessReports()
        reports.take(report(1, of: 2), of: "worker-1", now: start)
        #expect(values(reports, at: start).isEmpty)
        reports.take(report(2, part: 1, of: 2), of: "worker-1", now: start)
        #expect(values(reports, at: start) == ["worker-1": [1, 2]])
        // The second part of the next report is lost.
        reports.take(report(3, round: 2, of: 2), of: "worker-1", now: start)
        #expect(values(reports, at: start) == ["worker-1": [1, 2]])
        reports.take(report(4, round: 3), of: "worker-1", now: start)
        #expect(values(reports, at: start) == ["worker-1": [4]])
    }

    @Test func `a process that was not heard for 15 s is not shown`() {
        var reports = ProcessReports()
        reports.take(report(1), of: "worker-1", now: start)
        reports.take(report(2), of: "coordinator", now: start + .seconds(10))
        #expect(values(reports, at: start + .seconds(15)).count == 2)
        #expect(values(reports, at: start + .seconds(16)) == ["coordinator": [2]])
    }

    @Test func `a process whose reports never become whole again is not shown for ever`() {
        var reports = ProcessReports()
        reports.take(report(1), of: "worker-1", now: start)
        for second in 1...20 {
            reports.take(report(2, round: Int64(second + 1), of: 2), of: "worker-1", now: start + .seconds(second))
        }
        #expect(values(reports, at: start + .seconds(20)).isEmpty)
    }

    @Test(arguments: ["door", "worker-", "worker-1234", "worker-1\n", "worker--1", "", "*"])
    func `a process with another name is not shown`(name: String) {
        var reports = ProcessReports()
        reports.take(report(1), of: name, now: start)
        #expect(values(reports, at: start).isEmpty)
    }

    @Test func `at most 300 processes are kept`() {
        var reports = ProcessReports()
        for seat in 0..<400 { reports.take(report(1), of: "worker-\(seat)", now: start) }
        #expect(reports.families(now: start).count == 300)
        // They make room when they are not heard any more.
        reports.take(report(1), of: "worker-399", now: start + .seconds(20))
        #expect(reports.families(now: start + .seconds(20)).map(\.process) == ["worker-399"])
    }

    @Test func `the figures of this process are those of the kernel`() {
        let families = ProcessFigures.families
        #expect(families.map(\.name).allSatisfy { MetricCatalog.names.contains($0) } && families.count >= 4)
        for family in families {
            guard case .number(let value)? = family.samples.first?.value else { continue }
            #expect(value > 0, "\(family.name)")
        }
    }
}
