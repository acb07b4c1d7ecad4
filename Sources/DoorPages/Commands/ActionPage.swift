internal import Commands
internal import Console
internal import Door
internal import HTTPTypes

/// The progress of a bulk action.
struct ActionPage: Sendable {
    let route: PageRoute
    let actions: ActionRuns

    var endpoints: [Endpoint] {
        [
            route.page("/actions/{id}", show),
            route.action("/actions/{id}/stop") { visit, _ in
                let id = try id(of: visit)
                let isKnown = await actions.cancel(id)
                return visit.done(
                    isKnown ? "It ends after the commands that it changes now." : "The action is not known any more.",
                    isProblem: !isKnown, back: nil, or: PageLink("actions", id.description))
            },
        ]
    }

    @Sendable private func show(_ visit: Visit) async throws -> Response {
        let id = try id(of: visit)
        guard let run = await actions.run(id) else {
            throw Problem(.notFound, "not-found", "The action is not known any more: the door was started again since.")
        }
        return visit.page("Action", .commands) {
            tag(.div, .class("head")) {
                tag(.h1) {
                    "\(run.action.verb.name.prefix(1).uppercased())\(run.action.verb.name.dropFirst()) all that match"
                }
                if run.state == .running {
                    RowParts.button("Stop", visit.url(PageLink("actions", id.description, "stop")), tone: "danger")
                }
            }
            tag(.section, .class("panel"), .data("s", "run"), .the(.label, "Progress")) {
                tag(.ul, .class("stats")) {
                    figure("changed", run.changed, "ok")
                    figure("skipped", run.skipped, "dim")
                    figure("failed", run.failed, "bad")
                }
                tag(.p) { sentence(run, visit) }
                if let problem = run.problem { tag(.p, .class("notice bad")) { problem } }
            }
            tag(.p) { tag(.a, .href(visit.url(.commands))) { "Commands" } }
        }
    }

    private func figure(_ word: String, _ count: Int, _ tone: String) -> HTML {
        tag(.li) {
            tag(.b, .class("num \(count > 0 ? tone : "dim")")) { Figures.grouped(Int64(count)) }
            tag(.span) { " \(word)" }
        }
    }

    private func sentence(_ run: ActionRun, _ visit: Visit) -> String {
        let time = ((run.ended ?? visit.now) - run.started).shortText
        return switch run.state {
        case .running: "Running for \(time), begun by \(run.actor)."
        case .done: "Done in \(time). A skipped command had a status that does not allow it."
        case .cancelled: "Stopped after \(time)."
        case .failed: "It failed after \(time)."
        }
    }

    private func id(of visit: Visit) throws(Problem) -> CommandID {
        guard let id = CommandID(visit.request.parameters["id"] ?? "") else {
            throw Problem(.notFound, "not-found", "The id of an action is a UUID.")
        }
        return id
    }
}
