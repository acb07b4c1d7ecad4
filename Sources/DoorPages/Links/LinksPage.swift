internal import Commands
internal import Console
internal import Door
internal import DoorLive
internal import Hummingbird
internal import NetworkControl

/// The links: the list, and one of them.
struct LinksPage: Sendable {
    /// Rows of a page.
    private static let pageSize = 20

    let route: PageRoute

    var endpoints: [Endpoint] {
        [
            route.page("/links", Self.list), route.page("/links/{direction}/{name}", OneLinkView.show),
            route.action("/links/{direction}/{name}", LinkSettings.change),
        ]
    }

    private static func list(_ visit: Visit) async throws -> Response {
        let links = visit.live.links
        let last = max((links.shown.count - 1) / pageSize, 0)
        let page = min(max(visit.request.query["page"].flatMap { Int($0) } ?? 0, 0), last)
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
                    tag(.tbody) {
                        for link in links.shown.dropFirst(page * pageSize).prefix(pageSize) { row(link, visit) }
                    }
                }
                tag(.p, .class("more dim")) {
                    if page > 0 { turn("Worse", page - 1, visit) }
                    if page < last { turn("Better", page + 1, visit) }
                    if page == last, links.count > links.shown.count {
                        "\(links.count - links.shown.count) more, which do well or carry little."
                    }
                }
            }
        }
    }

    private static func turn(_ word: String, _ page: Int, _ visit: Visit) -> HTML {
        tag(.a, .class("button"), .href(visit.url(PageLink("links", query: [("page", "\(page)")])))) { word }
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
