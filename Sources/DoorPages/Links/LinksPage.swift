internal import Commands
internal import Console
internal import Door
internal import DoorLive
internal import HTTPTypes
internal import Logging
internal import NetworkControl
internal import Queue

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

/// The settings of a link that an operator changes.
enum LinkSettings {
    /// The name and direction in the path.
    static func link(of visit: Visit) throws(Problem) -> (name: String, direction: Direction) {
        let parameters = visit.request.parameters
        let name = LinkView.name(part: parameters["name"] ?? "")
        guard let direction = Direction(rawValue: parameters["direction"] ?? ""),
            name.hasPrefix("*") || Destination(name) != nil
        else {
            throw Problem(.notFound, "not-found", "There is no such link; the list of links has those that are known.")
        }
        return (name, direction)
    }

    static func change(_ visit: Visit, _ form: FormFields) async throws -> Response {
        let (name, direction) = try link(of: visit)
        let page = PageLink("links", direction.rawValue, LinkView.part(name))
        guard let destination = Destination(name) else {
            throw Problem(.badRequest, "link-not-found", "An uplink has no settings; change those of a destination.")
        }
        if let pause = form["pause"] {
            let client = visit.services.context.client
            if pause == "yes" {
                try await client.pause(destination: destination)
                return visit.done("Nothing new begins there; running commands continue.", back: nil, or: page)
            }
            try await client.resume(destination: destination)
            return visit.done("It goes on.", back: nil, or: page)
        }
        var change = LinkOverrideChange()
        if let level = form["level"] { change.isOffline = level == "offline" }
        if let text = form["rate"] {
            let rate = RateText.bytesPerSecond(text).flatMap { $0 >= DestinationLimits.minRate ? $0 : nil }
            guard text == "none" || rate != nil else {
                return visit.done(
                    "A limit is 20Mbit, 250kB or bytes per second, at least 1000.", isProblem: true, back: nil, or: page
                )
            }
            change.maxRate = .some(rate)
        }
        _ = try await visit.services.write { [change] queue in
            try queue.changeLink(to: destination, change)
        }
        visit.services.context.logger.notice(
            "The settings of a link were changed.",
            metadata: ["link": "\(destination)", "by": "\(visit.request.actor)"])
        return visit.done("The link has its new settings.", back: nil, or: page)
    }
}
