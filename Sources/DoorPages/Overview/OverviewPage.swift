internal import Commands
internal import Console
internal import Door
internal import DoorLive
internal import Hummingbird
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
