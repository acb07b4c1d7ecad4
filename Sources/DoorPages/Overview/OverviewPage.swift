internal import Commands
internal import Console
internal import Door
internal import DoorLive
internal import Hummingbird
internal import Store

/// The first page: what runs, what needs a person, and how the links do.
struct OverviewPage: Sendable {
    let route: PageRoute

    var endpoints: [Endpoint] { [route.page("/", Self.show)] }

    private static func show(_ visit: Visit) async throws -> Response {
        let attention = try await Attention(visit)
        return visit.page("Overview", .overview) {
            tag(.h1, .class("hide")) { "Overview" }
            for pause in visit.live.pauses { tag(.p, .class("notice warn")) { "Paused: \(pause)" } }
            for warning in visit.live.warnings { tag(.p, .class("notice bad")) { warning } }
            tag(.div, .class("cols")) {
                now(visit)
                hour(visit)
            }
            part("attention") { attention.html(visit) }
            part("links") { OverviewLinks(visit).html }
            part("running") { OverviewRunning(visit).html }
            part("uploads") { OverviewUploads(visit).html }
            part("failures") { OverviewFailures(visit).html }
        }
    }

    /// A part that the script replaces as a whole while it is not in use.
    private static func part(_ name: String, @HTMLBuilder content: () -> HTML) -> HTML {
        tag(.div, .data("s", name), content: content)
    }

    // MARK: Now

    private static func now(_ visit: Visit) -> HTML {
        let counts = visit.live.counts
        return tag(.section, .class("panel now"), .the(.labelledBy, "now-title")) {
            tag(.h2, .id("now-title")) { "Now" }
            tag(.ul, .class("stats")) {
                stat(visit, "running", counts[.queued] + counts[.sent], "sent", "run")
                stat(visit, "waiting", counts[.new], "new", "")
                stat(visit, "retrying", counts[.error], "error", "warn")
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

    // MARK: The last hour

    private static func hour(_ visit: Visit) -> HTML {
        tag(.section, .class("panel hour"), .the(.labelledBy, "hour-title")) {
            tag(.h2, .id("hour-title")) { "Last hour" }
            tag(.div, .class("plots")) {
                plot("done", visit.live.succeeded, visit.live.rates?.succeeded, "ok")
                plot("failed", visit.live.failed, visit.live.rates?.failed, "bad")
            }
        }
    }

    private static func plot(_ word: String, _ series: LiveSeries, _ now: Double?, _ tone: String) -> HTML {
        let seconds = max(series.interval.seconds, 0.001)
        let top = (series.values.compactMap(\.self).max() ?? 0) / seconds
        return tag(.div, .class("plot")) {
            tag(.span, .class("legend")) {
                tag(.b, .class("num"), .live("\(word)-rate")) { now.map(rate) ?? "–" }
                " \(word)/s"
                tag(.span, .class("dim num"), .live("\(word)-top")) { " · max \(rate(top))" }
            }
            SparklineView(series: series, label: "\(word) a second in the last hour", tone: tone, key: word).html
        }
    }

    private static func rate(_ value: Double) -> String {
        value >= 100 ? Figures.count(Int64(value)) : Figures.decimal(value, digits: 1)
    }
}
