internal import Commands
internal import Console
internal import Door
internal import HTTPTypes
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

/// A schedule in the list.
struct ScheduleRow {
    private static let upcoming = 3

    let schedule: StoredSchedule
    let last: Command?
    let visit: Visit

    /// - Parameter last: the command or flow that it submitted last; nil where there is none, or no more.
    init(_ schedule: StoredSchedule, _ last: Command?, _ visit: Visit) {
        self.schedule = schedule
        self.last = last
        self.visit = visit
    }

    private var key: String { "schedule-\(schedule.name)" }

    var html: HTML {
        let definition = schedule.definition
        return tag(.tr, .data("row", schedule.name)) {
            tag(.td, .class("c-name")) { tag(.bdi) { schedule.name } }
            tag(.td) {
                tag(.code) { definition.expression.description }
                tag(.span, .class("dim")) { " \(definition.zone)" }
            }
            tag(.td) { tag(.bdi) { submits } }
            tag(.td, .class("num"), .data("l", "fired"), .live("\(key)-fired")) {
                Figures.grouped(schedule.state.fired)
            }
            tag(.td, .class("num dim"), .data("l", "skipped"), .live("\(key)-skipped")) {
                Figures.grouped(schedule.state.skipped)
            }
            tag(.td, .data("l", "last"), .live("\(key)-last")) { lastFired }
            tag(.td, .class("c-wide"), .live("\(key)-next")) { next }
            tag(.td, .class("end")) { if visit.mayControl { buttons } }
        }
    }

    private var submits: String {
        switch schedule.action {
        case .command(let scheduled): scheduled.draft.type
        case .flow(let flow): "flow \(flow.name) (\(flow.nodes.count) nodes)"
        }
    }

    @HTMLBuilder private var lastFired: HTML {
        if let time = schedule.state.last {
            if let last {
                last.status.html
                " "
                tag(.a, .href(visit.url(.command(last.id)))) { time.html(now: visit.now) }
            } else {
                time.html(now: visit.now)
            }
        }
    }

    private var next: HTML {
        let state = schedule.state
        if state.paused { return RowParts.state("paused", glyph: "‖", tone: "warn") }
        if let reason = state.reason { return tag(.span, .class("bad")) { "held: \(reason)" } }
        guard let next = state.next else { return tag(.span, .class("dim")) { "no time follows" } }
        let times =
            (try? ScheduleTiming(schedule.definition, in: .system).upcoming(Self.upcoming, after: visit.now)) ?? []
        return tag(.span) {
            next.html(now: visit.now)
            tag(.span, .class("dim")) { next > visit.now ? " in \((next - visit.now).shortText)" : " due" }
            if times.count > 1 {
                tag(.span, .class("dim")) {
                    ", then "
                    for (index, time) in times.dropFirst().enumerated() {
                        if index > 0 { ", " }
                        time.time.nominal.html(now: visit.now)
                    }
                }
            }
        }
    }

    private var buttons: HTML {
        let name = schedule.name
        var all = RowParts.button(
            schedule.state.paused ? "resume" : "pause",
            visit.url(PageLink("schedules", name, schedule.state.paused ? "resume" : "pause")),
            label: "\(schedule.state.paused ? "Resume" : "Pause") \(name)", tone: "quiet")
        all.append(
            RowParts.button(
                "trigger", visit.url(PageLink("schedules", name, "trigger")), label: "Trigger \(name)", tone: "quiet",
                asks: "Submit it now?"))
        return all
    }
}
