internal import Commands
internal import Console
internal import Door
internal import DoorLive
internal import Hummingbird
internal import NetworkControl

/// The links: the list, and one of them.
struct LinksPage: Sendable {
    /// Rows of the list.
    private static let maxShown = 200

    let route: PageRoute

    var endpoints: [Endpoint] {
        [
            route.page("/links", Self.list), route.page("/links/{direction}/{name}", OneLinkView.show),
            route.action("/links/{direction}/{name}", LinkSettings.change),
        ]
    }

    private static func list(_ visit: Visit) async throws -> Response {
        let links = visit.live.links
        return visit.page("Links", .links) {
            tag(.h1, .class("hide")) { "Links" }
            if links.count == 0 {
                tag(.p, .class("empty")) { "No link is known yet: none was used since the coordinator has started." }
            } else {
                tag(.table, .class("list")) {
                    tag(.thead) {
                        tag(.tr) {
                            for title in ["Level", "Link", "Rate", "Last hour", "In flight", "Round trip", "Why"] {
                                tag(.th, .the(.scope, "col")) { title }
                            }
                        }
                    }
                    tag(.tbody) { for link in links.shown.prefix(maxShown) { row(link, visit) } }
                }
                if links.count > min(links.shown.count, maxShown) {
                    tag(.p, .class("dim")) {
                        "\(links.count - min(links.shown.count, maxShown)) more, which do well or carry little."
                    }
                }
            }
        }
    }

    private static func row(_ link: LinkReport, _ visit: Visit) -> HTML {
        let key = LinkView.key(link)
        return tag(.tr, .data("row", key)) {
            tag(.td) { LinkView.level(link, key: key) }
            tag(.td, .class("c-name")) {
                tag(.a, .href(visit.url(LinkView.page(link)))) { tag(.bdi) { LinkView.name(link) } }
            }
            tag(.td, .class("num"), .live("\(key)-rate")) { Figures.rate(max(link.rate ?? link.goodput ?? 0, 0)) }
            tag(.td, .class("c-plot run")) { LinkView.sparkline(link, visit.live, key: key) }
            tag(.td, .class("num dim"), .data("l", "in flight"), .live("\(key)-slots")) { LinkView.slots(link) }
            tag(.td, .class("num dim"), .data("l", "round trip"), .live("\(key)-srtt")) {
                link.srtt.map { "\($0.milliseconds) ms" } ?? ""
            }
            tag(.td, .class("c-reason dim"), .live("\(key)-reason")) { LinkView.sentence(link) }
        }
    }
}
