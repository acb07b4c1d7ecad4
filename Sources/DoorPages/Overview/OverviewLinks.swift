internal import Commands
internal import Console
internal import DoorLive
internal import NetworkControl

/// The links of the overview: the worst first, as ``LinkOverview`` orders them.
struct OverviewLinks {
    private static let shown = 8

    let visit: Visit

    init(_ visit: Visit) { self.visit = visit }

    var html: HTML {
        let links = visit.live.links
        let shown = links.shown.prefix(Self.shown)
        return tag(.section, .class("panel"), .the(.labelledBy, "links-title")) {
            tag(.h2, .id("links-title")) {
                "Links"
                tag(.a, .class("all"), .href(visit.url(.links))) { "all \(links.count)" }
            }
            if shown.isEmpty {
                tag(.p, .class("dim")) { "No link is known yet: none was used since the coordinator started." }
            } else {
                tag(.ul, .class("rows")) { for link in shown { row(link) } }
            }
        }
    }

    private func row(_ link: LinkReport) -> HTML {
        let key = LinkView.key(link)
        return tag(.li, .class("link")) {
            LinkView.level(link, key: key)
            tag(.a, .class("grow"), .href(visit.url(LinkView.page(link)))) { tag(.bdi) { LinkView.name(link) } }
            tag(.span, .class("num rate"), .live("\(key)-rate")) {
                Figures.rate(max(link.rate ?? link.goodput ?? 0, 0))
            }
            LinkView.sparkline(link, visit.live, key: key)
            tag(.span, .class("num dim slots"), .live("\(key)-slots"), .title("transfers in flight / limit")) {
                LinkView.slots(link)
            }
            tag(.span, .class("dim cut"), .live("\(key)-reason")) { LinkView.sentence(link) }
        }
    }
}
