internal import Commands
internal import Console
internal import Door
internal import DoorLive
internal import HTTPTypes
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

/// One rate limit: what it lets start, the commands that wait for it, and the form that changes it.
struct LimitView {
    let visit: Visit
    private let details: RateLimitDetails

    private var reading: RateLimitReading { details.reading }

    static func show(_ visit: Visit) async throws -> Response {
        let name = visit.request.parameters["name"] ?? ""
        guard let details = try await visit.services.read({ queue in try queue.limitDetails(of: name) }) else {
            throw Problem(
                .notFound, "not-found", "There is no such rate limit, and no command waits for one of that name.")
        }
        return LimitView(visit: visit, details: details).response
    }

    /// Commands that run, and how many may.
    static func running(_ reading: RateLimitReading) -> String {
        let count = Figures.grouped(Int64(reading.running))
        return reading.limit?.atOnce.map { "\(count) of \($0)" } ?? count
    }

    private var response: Response {
        visit.page(reading.name, .limits) {
            tag(.h1) { reading.name }
            tag(.section, .class("panel"), .the(.label, "Use"), .data("s", "use")) {
                tag(.p, .class("why")) {
                    reading.limit.map { limit in
                        let text = LimitText.sentence(limit)
                        return "\(text.prefix(1).uppercased())\(text.dropFirst())."
                    } ?? "It was removed. Commands that name it wait until it exists again."
                    if !reading.state.isEmpty { tag(.span, .class("dim")) { " \(Self.sentence(reading.state))" } }
                }
                tag(.dl, .class("facts")) {
                    fact("Running", Self.running(reading))
                    fact("Waiting", Figures.grouped(Int64(reading.waiting)))
                    if !details.keys.isEmpty {
                        fact("Of", details.keys.prefix(8).map(Self.text).joined(separator: ", "))
                    }
                }
            }
            if !details.next.isEmpty { waiting }
            if visit.mayControl { form }
        }
    }

    private static func sentence(_ text: String) -> String { "\(text.prefix(1).uppercased())\(text.dropFirst())." }

    private static func text(_ key: ReadyKey) -> String {
        key.destination == .none ? key.qos.name : "\(key.qos.name) to \(RowParts.destination(key.destination))"
    }

    private var waiting: HTML {
        tag(.section, .class("panel"), .the(.labelledBy, "next-title")) {
            tag(.h2, .id("next-title")) { "Those that wait longest" }
            tag(.ul, .class("rows"), .data("s", "next")) {
                for command in details.next {
                    tag(.li, .data("row", command.id.description)) {
                        command.status.html
                        tag(.a, .class("grow"), .href(visit.url(.command(command.id)))) {
                            tag(.bdi) { command.type }
                            tag(.code) { " \(command.id.description.suffix(8))" }
                        }
                        tag(.span, .class("dim")) { command.createdAt.ageHTML(now: visit.now) }
                    }
                }
            }
        }
    }

    private var form: HTML {
        tag(.section, .class("panel"), .the(.labelledBy, "change-title")) {
            tag(.h2, .id("change-title")) { "Change" }
            tag(.form, .class("filter"), .the(.method, "post"), .action(visit.url(.limit(reading.name)))) {
                field(
                    "starts", "Starts, such as 30/s or 1000/day", reading.limit.map { "\($0.starts)" } ?? "",
                    isRequired: true)
                field("burst", "Burst: in one moment", reading.limit?.burst.map { "\($0)" } ?? "")
                field("atOnce", "Running at once", reading.limit?.atOnce.map { "\($0)" } ?? "")
                tag(.button, .the(.type, "submit")) { "Change" }
            }
            tag(.p, .class("dim")) {
                "An empty burst is the default one. Empty, “Running at once” does not limit. A change takes effect now."
            }
        }
    }

    private func field(_ name: String, _ title: String, _ value: String, isRequired: Bool = false) -> HTML {
        tag(.label) {
            tag(.span) { title }
            tag(
                .input, .the(.type, "text"), .the(.name, name), .the(.value, value), .the(.size, "14"),
                .the(.maxlength, "20"), .flag(.required, isRequired))
        }
    }

    private func fact(_ name: String, _ value: String) -> HTML {
        var pair = tag(.dt) { name }
        pair.append(tag(.dd) { tag(.bdi) { value } })
        return pair
    }
}
