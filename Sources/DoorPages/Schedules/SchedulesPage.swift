internal import Commands
internal import Console
internal import Door
internal import Hummingbird
internal import Logging
internal import Queue
internal import Store
internal import Wire

/// The schedules: when each fires next, and the buttons to pause, resume and trigger it.
struct SchedulesPage: Sendable {
    private static let maxShown = 500

    let route: PageRoute

    var endpoints: [Endpoint] {
        [route.page("/schedules", Self.show), route.action("/schedules/{name}/{verb}", Self.act)]
    }

    private static func show(_ visit: Visit) async throws -> Response {
        let (schedules, last) = try await visit.services.store { store throws(StoreError) in
            let schedules = try store.schedules()
            var last: [CommandID: Command] = [:]
            for id in schedules.prefix(maxShown).compactMap(\.state.lastID) { last[id] = try store.command(id) }
            return (schedules, last)
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
        let directory = visit.services.context.client.directory
        let result = try await visit.services.store { store throws(StoreError) -> (text: String, isProblem: Bool)? in
            guard try store.schedule(name) != nil else { return nil }
            switch verb {
            case "pause", "resume":
                try store.changeSchedule(name) { schedule throws(StoreError) in
                    guard var schedule else { return nil }
                    let timing = ScheduleTiming(schedule.definition, in: .system)
                    schedule.state =
                        verb == "pause" ? timing.paused(schedule.state) : timing.resumed(schedule.state, now: .now)
                    return schedule
                }
                return (verb == "pause" ? "“\(name)” is paused." : "“\(name)” fires again.", false)
            case "trigger":
                let round = try store.fireSchedule(named: name, now: .now)
                if let problem = round.problems.first { return (problem, true) }
                let hints = PendingHints(in: directory)
                hints.add(round.effects, of: nil)
                for id in round.changes.flatMap(\.ids) { hints.add(.ready, id) }
                hints.send()
                return ("“\(name)” was submitted now.", false)
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
