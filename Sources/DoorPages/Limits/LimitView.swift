internal import Commands
internal import Console
internal import Door
internal import Hummingbird
internal import Queue

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
