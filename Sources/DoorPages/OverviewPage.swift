internal import Commands
internal import Console
internal import Door
internal import DoorLive
internal import HTTPTypes
internal import NetworkControl
internal import Queue

/// The first page: what needs a person, what runs, and how the links do.
struct OverviewPage: Sendable {
    let route: PageRoute

    var endpoints: [Endpoint] { [route.page("/", Self.show), route.action("/resume", Self.resume)] }

    private static func show(_ visit: Visit) async throws -> Response {
        let attention = try await Attention(visit)
        let uploads = try await OverviewUploads(visit)
        let failures = try await OverviewFailures(visit)
        return visit.page("Overview", .overview) {
            tag(.h1, .class("hide")) { "Overview" }
            part("attention") { attention.html }
            tag(.div, .class("cols")) {
                now(visit)
                OverviewHour(visit).html
            }
            part("waiting") { OverviewWaiting(visit).html }
            part("links") { OverviewLinks(visit).html }
            part("running") { OverviewRunning(visit).html }
            part("uploads") { uploads.html }
            part("failures") { failures.html }
        }
    }

    /// Lifts a pause.
    private static func resume(_ visit: Visit, _ form: FormFields) async throws -> Response {
        let qos = form["qos"].flatMap(QualityOfService.init(name:))
        let destination = form["destination"].flatMap { Destination($0) }
        guard (form["qos"] == nil) == (qos == nil), (form["destination"] == nil) == (destination == nil) else {
            throw Problem(.badRequest, "invalid-form", "There is no such pause; use the button of the page.")
        }
        let wasPaused = try await visit.services.context.client.resume(qos: qos, destination: destination)
        return visit.done(
            wasPaused ? "The pause is lifted." : "It was not paused any more.", back: nil, or: .overview)
    }

    /// A part that the script replaces as a whole while it is not in use.
    private static func part(_ name: String, @HTMLBuilder content: () -> HTML) -> HTML {
        tag(.div, .data("s", name), content: content)
    }

    private static func now(_ visit: Visit) -> HTML {
        let counts = visit.live.counts
        return tag(.section, .class("panel"), .the(.labelledBy, "now-title")) {
            tag(.h2, .id("now-title")) { "Now" }
            tag(.ul, .class("stats")) {
                stat(visit, "running", counts[.queued] + counts[.sent], "sent", "run")
                stat(visit, "waiting", counts[.new], "new", "")
                stat(visit, "to retry", counts[.error], "error", "warn")
                stat(visit, "blocked", counts[.blocked], "blocked", "dim")
                stat(visit, "in doubt", counts[.inDoubt], "inDoubt", "warn")
                stat(visit, "gave up", counts[.tooManyTimes], "tooManyTimes", "bad")
            }
        }
    }

    private static func stat(_ visit: Visit, _ word: String, _ count: Int, _ status: String, _ tone: String) -> HTML {
        tag(.li) {
            tag(.a, .href(visit.url(.commands([("status", status)])))) {
                tag(.b, .class("num \(count > 0 ? tone : "dim")"), .live("count-\(status)")) {
                    Figures.grouped(Int64(count))
                }
                tag(.span) { " \(word)" }
            }
        }
    }
}

/// How many commands ended in the last hour, or since the door has started.
struct OverviewHour {
    let visit: Visit

    init(_ visit: Visit) { self.visit = visit }

    var html: HTML {
        tag(.section, .class("panel"), .the(.labelledBy, "hour-title")) {
            tag(.h2, .id("hour-title"), .live("hour")) { "Last \(SparklineView.span(of: visit.live.succeeded))" }
            tag(.div, .class("plots")) {
                plot("done", visit.live.succeeded, visit.live.rates?.succeeded, "ok")
                plot("failed", visit.live.failed, visit.live.rates?.failed, "bad")
            }
        }
    }

    private func plot(_ word: String, _ series: LiveSeries, _ now: Double?, _ tone: String) -> HTML {
        let seconds = max(series.interval.seconds, 0.001)
        // The present interval is not in the series yet.
        let top = max((series.values.compactMap(\.self).max() ?? 0) / seconds, now ?? 0)
        return tag(.div, .class("plot")) {
            tag(.span, .class("legend")) {
                tag(.b, .class("num"), .live("\(word)-rate")) { now.map(Self.rate) ?? "–" }
                " \(word)/s"
                tag(.span, .class("dim num"), .live("\(word)-top")) { " · max \(Self.rate(top))" }
            }
            SparklineView(
                series: series, label: "\(word) a second in the last \(SparklineView.span(of: series))", tone: tone,
                key: word
            ).html
        }
    }

    private static func rate(_ value: Double) -> String {
        value >= 100 ? Figures.count(Int64(value)) : Figures.decimal(value, digits: 1)
    }
}

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

/// The uploads that come in.
struct OverviewUploads {
    private static let shown = 6

    let visit: Visit
    private let uploads: [Upload]
    private let tokens: [String: String]

    init(_ visit: Visit) async throws(Problem) {
        self.visit = visit
        let uploads = visit.live.uploads.filter { $0.state == .open }
        self.uploads = uploads
        tokens =
            uploads.isEmpty
            ? [:]
            : try await visit.services.read { queue in
                try UploadRow.tokens(of: Array(uploads.prefix(Self.shown)), queue)
            }
    }

    var html: HTML {
        guard !uploads.isEmpty else { return HTML() }
        return tag(.section, .class("panel"), .the(.labelledBy, "uploads-title")) {
            tag(.h2, .id("uploads-title")) {
                "Uploads in"
                tag(.a, .class("all"), .href(visit.url(.uploads))) { "all" }
            }
            tag(.ul, .class("rows")) {
                for upload in uploads.prefix(Self.shown) { UploadRow(upload, tokens, visit).item }
            }
        }
    }
}
