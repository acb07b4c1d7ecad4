internal import Commands
internal import Console
internal import DoorLive

/// Failures by their reason, the newest first.
struct OverviewFailures {
    private static let shown = 10

    let visit: Visit

    init(_ visit: Visit) { self.visit = visit }

    var html: HTML {
        let problems = visit.live.problems
        guard !problems.isEmpty else { return HTML() }
        return tag(.section, .class("panel"), .the(.labelledBy, "failed-title")) {
            tag(.h2, .id("failed-title")) {
                "Failed"
                tag(.a, .class("all"), .href(visit.url(.commands([("status", "error")])))) { "all that retry" }
            }
            tag(.ul, .class("rows")) { for problem in problems.prefix(Self.shown) { row(problem) } }
        }
    }

    private func row(_ problem: WatchState.Problem) -> HTML {
        let status = CommandStatus(name: problem.status)
        let text = String(problem.reason.prefix(120))
        let query = [("status", problem.status), ("in", "reason"), ("q", text)]
        return tag(.li, .class("failure")) {
            if let status { status.html }
            if problem.count > 1 { tag(.b, .class("num")) { "\(Figures.grouped(Int64(problem.count))) ×" } }
            tag(.a, .class("grow"), .href(visit.url(.commands(query)))) { tag(.bdi) { problem.reason } }
            if let time = Timestamp(rfc3339: problem.at) { time.html(now: visit.now) }
            if visit.mayControl, let status, status == .error || status == .tooManyTimes {
                bulk("retry", problem, text)
                if status == .error { bulk("cancel", problem, text, asks: "Cancel all commands with this failure?") }
            }
            if let id = CommandID(problem.id) { tag(.a, .href(visit.url(.command(id)))) { "newest" } }
        }
    }

    /// Changes all commands that have failed so, in the background.
    private func bulk(_ verb: String, _ problem: WatchState.Problem, _ text: String, asks: String? = nil) -> HTML {
        RowParts.button(
            problem.count > 1 ? "\(verb) all" : verb, visit.url(PageLink("commands", "act")),
            label: "\(verb) all that failed so", tone: "quiet",
            fields: [
                ("f-status", problem.status), ("f-in", "reason"), ("f-q", text), ("scope", "all"), ("verb", verb),
            ],
            asks: asks)
    }
}
