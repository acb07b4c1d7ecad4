import Commands
import Console
import NetworkControl
import Telemetry
import Testing

@testable import DoorMetrics

struct LinkFiguresTests {
    private func link(_ number: Int, level: LinkLevel = .good, rate: Int64 = 1000) -> LinkReport {
        var link = LinkReport(destination: "https://host-\(number):443", level: level)
        (link.rate, link.inFlight, link.highInFlight, link.limit) = (rate, 2, 1, 4)
        link.srtt = .milliseconds(25)
        return link
    }

    private func samples(_ name: String, _ families: [MetricFamily]) -> [MetricSample] {
        families.first { $0.name == name }?.samples ?? []
    }

    @Test func `a link has its level, traffic and round trip`() {
        let families = LinkFigures.families(of: LinkOverview([link(1, level: .poor)]))
        let labels = [MetricLabel("link", "https://host-1:443"), MetricLabel("direction", "up")]
        #expect(samples("sluice_link_in_flight", families) == [MetricSample(3, labels)])
        #expect(samples("sluice_link_limit", families) == [MetricSample(4, labels)])
        #expect(samples("sluice_link_goodput_bytes_per_second", families) == [MetricSample(1000, labels)])
        #expect(samples("sluice_link_round_trip_seconds", families) == [MetricSample(0.025, labels)])
        let levels = samples("sluice_link_level", families)
        #expect(levels.count == 5)
        #expect(levels.filter { $0.value == .number(1) }.map(\.labels) == [labels + [MetricLabel("level", "poor")]])
    }

    @Test func `200 of 1,000 links are shown, and the others are summed`() {
        let families = LinkFigures.families(of: LinkOverview((0..<1000).map { link($0) }, limit: nil))
        let rates = samples("sluice_link_goodput_bytes_per_second", families)
        #expect(rates.count == 201 && rates.last == MetricSample(800_000, [MetricLabel("link", "other")]))
        #expect(samples("sluice_link_in_flight", families).last == MetricSample(2400, [MetricLabel("link", "other")]))
        #expect(samples("sluice_link_level", families).count == 1000)
        #expect(samples("sluice_links", families).contains(MetricSample(1000, [MetricLabel("status", "good")])))
    }

    @Test func `the worst links are shown one by one`() {
        let links = (0..<400).map { link($0) } + [link(1000, level: .offline)]
        let families = LinkFigures.families(of: LinkOverview(links, limit: nil))
        let offline = samples("sluice_link_level", families).filter {
            $0.labels.contains(MetricLabel("level", "offline")) && $0.value == .number(1)
        }
        #expect(offline.count == 1)
    }
}
