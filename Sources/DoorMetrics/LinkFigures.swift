internal import Commands
internal import Console
internal import NetworkControl
internal import Telemetry

/// The figures of links: of 200 one by one, of the others in sums.
enum LinkFigures {
    static let maxLinks = 200
    private static let other = MetricLabel("link", "other")

    static func families(of links: LinkOverview) -> [MetricFamily] {
        let links = links.limited(to: maxLinks)
        let shown = links.shown
        return [
            status(shown, links.rest), levels(shown),
            family("sluice_link_limit", shown) { $0.limit.map(Double.init) },
            family("sluice_link_in_flight", shown, rest: links.rest.count > 0 ? links.rest.inFlight : nil) {
                Double($0.allInFlight)
            },
            family(
                "sluice_link_goodput_bytes_per_second", shown, rest: links.rest.count > 0 ? links.rest.rate : nil
            ) { Double($0.currentRate) },
            family("sluice_link_round_trip_seconds", shown) { $0.srtt?.seconds },
        ]
    }

    private static func family(
        _ name: String, _ links: [LinkReport], rest: Int64? = nil, _ value: (LinkReport) -> Double?
    ) -> MetricFamily {
        var family = MetricFamily(name, .gauge)
        for link in links { if let value = value(link) { family.add(value, labels(link)) } }
        if let rest { family.add(Double(rest), [other]) }
        return family
    }

    private static func levels(_ links: [LinkReport]) -> MetricFamily {
        var family = MetricFamily("sluice_link_level", .gauge)
        for link in links {
            for level in [LinkLevel.good, .degraded, .poor, .offline, .unknown] {
                family.add(link.level == level ? 1 : 0, labels(link) + [MetricLabel("level", level.name)])
            }
        }
        return family
    }

    private static func status(_ links: [LinkReport], _ rest: LinkSummary) -> MetricFamily {
        var family = MetricFamily("sluice_links", .gauge)
        for status in LinkStatus.allCases {
            let count = links.count { LinkStatus($0) == status } + rest.count(status)
            family.add(Double(count), [MetricLabel("status", "\(status)")])
        }
        return family
    }

    private static func labels(_ link: LinkReport) -> [MetricLabel] {
        [MetricLabel("link", link.destination), MetricLabel("direction", link.direction.rawValue)]
    }
}
