internal import Commands
internal import Console
internal import Door
internal import DoorLive
internal import Hummingbird
internal import Logging
internal import Queue

/// The rate limits: how much of each is used, what waits for it, and its change.
struct LimitsPage: Sendable {
    private static let maxShown = 200

    let route: PageRoute

    var endpoints: [Endpoint] {
        [
            route.page("/limits", Self.list), route.page("/limits/{name}", LimitView.show),
            route.action("/limits/{name}", Self.change),
        ]
    }

    private static func list(_ visit: Visit) async throws -> Response {
        let limits = try await visit.services.read { queue in try queue.rateLimits() }
        let keys = visit.live.relations.keys
        return visit.page("Limits", .limits) {
            tag(.h1, .class("hide")) { "Limits" }
            if limits.isEmpty {
                tag(.p, .class("empty")) {
                    "There are no rate limits. "
                    tag(.code) { "sluice limit set NAME --starts 30/s" }
                    " makes one, which commands name with --limit."
                }
            } else {
                tag(.table, .class("list")) {
                    tag(.thead) {
                        tag(.tr) {
                            for title in ["Limit", "Starts", "Burst", "Running", "Waiting", "State"] {
                                tag(.th, .the(.scope, "col")) { title }
                            }
                        }
                    }
                    tag(.tbody) { for limit in limits.prefix(maxShown) { row(limit, visit) } }
                }
                if limits.count > maxShown {
                    tag(.p, .class("dim")) { "The first \(maxShown); “sluice limit list” shows all." }
                }
            }
            tag(.section, .class("panel"), .the(.labelledBy, "keys-title")) {
                tag(.h2, .id("keys-title")) { "Ordering keys" }
                tag(.p, .live("keys")) { sentence(keys) }
            }
        }
    }

    private static func sentence(_ keys: OrderingKeyOverview) -> String {
        guard let longest = keys.longest else { return "No command waits for an ordering key." }
        let waiting = Figures.grouped(Int64(keys.waiting)) + (keys.isComplete ? "" : " or more")
        return "\(waiting) wait for \(keys.keys) key\(keys.keys == 1 ? "" : "s"); the longest queue is that of "
            + "“\(longest.key)” with \(Figures.grouped(Int64(longest.waiting)))."
    }

    private static func row(_ reading: RateLimitReading, _ visit: Visit) -> HTML {
        let key = "limit-\(reading.name)"
        return tag(.tr, .data("row", reading.name)) {
            tag(.td, .class("c-name")) { tag(.a, .href(visit.url(.limit(reading.name)))) { reading.name } }
            tag(.td, .class("num"), .data("l", "starts")) { reading.limit.map { "\($0.starts)" } ?? "removed" }
            tag(.td, .class("num"), .data("l", "burst")) {
                reading.limit.map { "\($0.burst ?? $0.starts.defaultBurst)" } ?? ""
            }
            tag(.td, .class("num"), .data("l", "running"), .live("\(key)-running")) { LimitView.running(reading) }
            tag(.td, .class("num"), .data("l", "waiting"), .live("\(key)-waiting")) {
                Figures.grouped(Int64(reading.waiting))
            }
            tag(.td, .class("c-reason"), .live("\(key)-reason")) { reading.state }
        }
    }

    /// Makes or changes a limit.
    private static func change(_ visit: Visit, _ form: FormFields) async throws -> Response {
        let name = visit.request.parameters["name"] ?? ""
        guard RateLimit.isName(name) else {
            throw Problem(.notFound, "not-found", "That is not the name of a rate limit: \(RateLimit.nameForm).")
        }
        let page = PageLink.limit(name)
        guard let starts = StartRate(text: form["starts"] ?? "") else {
            return visit.done("The starts are \(StartRate.forms).", isProblem: true, back: nil, or: page)
        }
        var limit = RateLimit(starts: starts)
        do throws(Problem) {
            limit.burst = try number(form["burst"], "The burst", 1...StartRate.maxBurst)
            limit.atOnce = try number(form["atOnce"], "The number that run at once", 1...RateLimit.maxAtOnce)
        } catch {
            return visit.done(error.detail, isProblem: true, back: nil, or: page)
        }
        let change = RateLimitChange(to: limit)
        _ = try await visit.services.write { queue in try queue.changeRateLimit(name, change) }
        visit.services.context.logger.notice(
            "A rate limit was changed.", metadata: ["limit": "\(name)", "by": "\(visit.request.actor)"])
        return visit.done("“\(name)”: \(LimitText.sentence(limit)).", back: nil, or: page)
    }

    private static func number(
        _ text: String?, _ subject: String, _ range: ClosedRange<Int>
    ) throws(Problem) -> Int? {
        guard let text else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw Problem(
                .badRequest, "invalid-form",
                "\(subject) is a number from \(range.lowerBound) to \(range.upperBound), or empty.")
        }
        return number
    }
}
