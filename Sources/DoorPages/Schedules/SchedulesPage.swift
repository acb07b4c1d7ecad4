internal import Commands
internal import Console
internal import Door
internal import Hummingbird
internal import Logging
internal import Queue

/// The schedules: when each fires next, and the buttons to pause, resume and trigger it.
struct SchedulesPage: Sendable {
    private static let maxShown = 500

    let route: PageRoute

    var endpoints: [Endpoint] {
        [route.page("/schedules", Self.show), route.action("/schedules/{name}/{verb}", Self.act)]
    }

    private static func show(_ visit: Visit) async throws -> Response {
        let (schedules, last) = try await visit.services.read { queue in
            let schedules = try queue.schedules()
            return (schedules, try queue.readable(schedules.prefix(maxShown).compactMap(\.state.lastID)))
        }
        return visit.page("Schedules", .schedules) {
            tag(.h1, .class("hide")) { "Schedules" }
            if schedules.isEmpty {
                tag(.p, .class("empty")) {
                    "There are no schedules. "
                    tag(.code) { "sluice schedule put" }
                    " makes one."
                }
            } else {
                tag(.table, .class("list")) {
                    tag(.thead) {
                        tag(.tr) {
                            for title in ["Schedule", "Cron", "Submits", "Fired", "Skipped", "Last", "Next", ""] {
                                tag(.th, .the(.scope, "col")) {
                                    title.isEmpty ? tag(.span, .class("hide")) { "Actions" } : HTML(text: title)
                                }
                            }
                        }
                    }
                    tag(.tbody) {
                        for schedule in schedules.prefix(maxShown) {
                            ScheduleRow(schedule, schedule.state.lastID.flatMap { last[$0] }, visit).html
                        }
                    }
                }
                if schedules.count > maxShown {
                    tag(.p, .class("dim")) { "The first \(maxShown); “sluice schedule list” shows all." }
                }
            }
        }
    }

    private static func act(_ visit: Visit, _ form: FormFields) async throws -> Response {
        let name = visit.request.parameters["name"] ?? ""
        let verb = visit.request.parameters["verb"] ?? ""
        let result = try await visit.services.write { queue -> (text: String, isProblem: Bool)? in
            switch verb {
            case "pause": return try queue.pauseSchedule(name).map { _ in ("“\(name)” is paused.", false) }
            case "resume": return try queue.resumeSchedule(name).map { _ in ("“\(name)” fires again.", false) }
            case "trigger":
                let (ids, problem) = try queue.triggerSchedule(name)
                if let problem { return (problem, true) }
                return ids.isEmpty ? nil : ("“\(name)” was submitted now.", false)
            default: return nil
            }
        }
        guard let result else {
            throw Problem(.notFound, "not-found", "There is no such schedule or verb; use a button of the page.")
        }
        visit.services.context.logger.notice(
            "A schedule was changed.",
            metadata: ["schedule": "\(name)", "verb": "\(verb)", "by": "\(visit.request.actor)"])
        return visit.done(result.text, isProblem: result.isProblem, back: nil, or: .schedules)
    }
}
