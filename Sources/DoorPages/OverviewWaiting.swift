internal import Commands
internal import Console
internal import DoorLive
internal import Queue

/// Waiting commands by the cause that holds them back: first the causes that time alone does not end.
struct OverviewWaiting {
    private static let shown = 8

    let visit: Visit

    init(_ visit: Visit) { self.visit = visit }

    var html: HTML {
        let causes = visit.live.waiting
        guard !causes.isEmpty else { return HTML() }
        return tag(.section, .class("panel"), .the(.labelledBy, "waiting-title")) {
            tag(.h2, .id("waiting-title")) {
                "Waiting, by cause"
                tag(.a, .class("all"), .href(visit.url(.commands([("status", "new")])))) { "all that wait" }
            }
            tag(.ul, .class("rows")) { for cause in causes.prefix(Self.shown) { row(cause) } }
            if causes.count > Self.shown {
                tag(.p, .class("dim")) { "\(Figures.grouped(Int64(causes.count - Self.shown))) more causes." }
            }
        }
    }

    private func row(_ cause: WaitCause) -> HTML {
        tag(.li, .class("failure")) {
            RowParts.state(
                cause.isStopped ? "held up" : "waiting", glyph: cause.isStopped ? "!" : "○",
                tone: cause.isStopped ? "warn" : "dim")
            tag(.b, .class("num")) { cause.countText }
            tag(.a, .class("grow"), .href(visit.url(commands(cause)))) { tag(.bdi) { cause.sentence } }
            cause.since.ageHTML(now: visit.now)
            tag(.span, .class("end")) {
                if let (link, word) = page(cause) {
                    tag(.a, .href(visit.url(link)), .the(.label, "\(word): \(cause.name)")) { word }
                }
            }
        }
    }

    private func commands(_ cause: WaitCause) -> PageLink {
        switch cause.subject {
        case .destination(let destination) where destination != .none:
            .commands([("status", "new"), ("to", destination.text)])
        case .destination: .commands([("status", "new")])
        case .limit(let name): .limit(name)
        case .notBefore: .commands([("status", visit.live.counts[.error] > 0 ? "error" : "new")])
        }
    }

    private func page(_ cause: WaitCause) -> (link: PageLink, word: String)? {
        switch (cause.subject, cause.kind) {
        case (_, .process): (.workers, "workers")
        case (.destination(let destination), _) where destination != .none:
            (PageLink("links", "up", LinkView.part(destination.text)), "link")
        case (.destination, _): (.workers, "workers")
        case (.limit, _), (.notBefore, _): nil
        }
    }
}
