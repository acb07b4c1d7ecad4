internal import Commands
internal import Console
internal import Door
internal import HTTPTypes
internal import Host
internal import Queue

/// The batches: the list, and one of them.
struct BatchesPage: Sendable {
    private static let shown = 50
    private static let time: Duration = .milliseconds(250)

    let route: PageRoute

    var endpoints: [Endpoint] {
        [
            route.page("/batches", Self.list), route.page("/batches/{id}", Self.show),
            route.action("/batches/{id}/seal", Self.seal),
        ]
    }

    private static func list(_ visit: Visit) async throws -> Response {
        let after = visit.request.query["before"].flatMap { CommandID($0) }
        let (batches, next) = try await visit.services.read { queue in
            try queue.batches(after: after, limit: shown, within: time)
        }
        return visit.page("Batches", .batches) {
            tag(.h1, .class("hide")) { "Batches" }
            if batches.isEmpty {
                tag(.p, .class("empty")) {
                    next == nil ? "There are no batches yet. " : "No batch so far. "
                    tag(.code) { "sluice batch submit TYPE -" }
                    " makes one of the lines of its input."
                }
            } else {
                tag(.table, .class("list")) {
                    tag(.thead) {
                        tag(.tr) {
                            for title in ["Status", "Batch", "Ended", "Members", "Failed", "Age"] {
                                tag(.th, .the(.scope, "col")) { title }
                            }
                        }
                    }
                    tag(.tbody) { for batch in batches { row(batch, visit) } }
                }
            }
            if let next {
                tag(.p, .class("more")) {
                    tag(
                        .a, .class("button"),
                        .href(visit.url(PageLink("batches", query: [("before", next.description)])))
                    ) { "Older" }
                    tag(.span, .class("dim")) { " Looked back to \(next.madeAt)." }
                }
            }
        }
    }

    private static func row(_ batch: BatchState, _ visit: Visit) -> HTML {
        let key = "batch-\(batch.command.id)"
        return tag(.tr, .data("row", batch.command.id.description)) {
            tag(.td, .live("\(key)-status")) { BatchView.status(batch) }
            tag(.td, .class("c-name")) {
                tag(.a, .href(visit.url(.batch(batch.command.id)))) {
                    tag(.bdi) { batch.name.isEmpty ? "batch" : batch.name }
                    tag(.code) { " \(batch.command.id.description.suffix(8))" }
                }
            }
            tag(.td) { BatchView.progress(batch, key: key) }
            tag(.td, .class("num"), .data("l", "members"), .live("\(key)-members")) {
                Figures.grouped(Int64(batch.members))
            }
            tag(.td, .class("num \(batch.failed > 0 ? "bad" : "dim")"), .data("l", "failed"), .live("\(key)-failed")) {
                Figures.grouped(Int64(batch.failed))
            }
            tag(.td, .class("c-age"), .data("l", "age")) { batch.command.createdAt.ageHTML(now: visit.now) }
        }
    }

    private static func show(_ visit: Visit) async throws -> Response {
        let id = try id(of: visit)
        let found = try await visit.services.read { queue in try queue.batchDetails(of: id) }
        guard let details = found else {
            throw Problem(.notFound, "not-found", "There is no batch \(id); a member has a page of a command.")
        }
        return BatchView(visit: visit, details: details).response
    }

    private static func seal(_ visit: Visit, _ form: FormFields) async throws -> Response {
        let id = try id(of: visit)
        do {
            try await visit.services.context.client.seal(id)
        } catch let error as SluiceError {
            return visit.done(Problem(error).detail, isProblem: true, back: nil, or: .batch(id))
        }
        return visit.done("It is sealed: it ends with its last member.", back: nil, or: .batch(id))
    }

    private static func id(of visit: Visit) throws(Problem) -> CommandID {
        guard let id = CommandID(visit.request.parameters["id"] ?? "") else {
            throw Problem(.notFound, "not-found", "The id of a batch is a UUID.")
        }
        return id
    }
}

/// One batch: its members by status, those that failed, and the commands that run after it.
struct BatchView {
    let visit: Visit
    let details: BatchDetails

    private var batch: BatchState { details.batch }
    private var id: CommandID { batch.command.id }

    /// An open batch takes more members.
    static func status(_ batch: BatchState) -> HTML {
        batch.command.status == .blocked && !batch.isSealed
            ? RowParts.state("open", glyph: "○", tone: "dim", title: "takes more members until it is sealed")
            : batch.command.status == .blocked
                ? RowParts.state("running", glyph: "▸", tone: "run", title: "blocked until its last member has ended")
                : batch.command.status.html
    }

    static func progress(_ batch: BatchState, key: String?) -> HTML {
        RowParts.progress(
            Int64(batch.members - batch.open), of: Int64(batch.members), label: "Members that have ended", key: key,
            empty: "no members")
    }

    var response: Response {
        let name = batch.name.isEmpty ? "Batch" : batch.name
        return visit.page(name, .batches) {
            tag(.div, .class("head")) {
                tag(.div) {
                    tag(.h1) { tag(.bdi) { name } }
                    tag(.p, .data("s", "state")) {
                        Self.status(batch)
                        tag(.span, .class("dim")) { " · \(age)" }
                    }
                }
                tag(.div, .class("acts")) {
                    if visit.mayControl { buttons }
                    tag(.a, .class("button"), .href(visit.url(.command(id)))) { "Its command" }
                }
            }
            members
            failed
            callbacks
        }
    }

    private var age: String {
        let end = batch.command.status.isFinal ? batch.command.updatedAt : visit.now
        let time = (end - batch.command.createdAt).roundText
        return batch.command.status.isFinal ? "took \(time)" : "for \(time)"
    }

    @HTMLBuilder private var buttons: HTML {
        if !batch.isSealed, !batch.command.status.isFinal {
            RowParts.button(
                "Seal", visit.url(PageLink("batches", id.description, "seal")),
                asks: "Let no more members into this batch?")
        }
        if !batch.command.status.isFinal {
            RowParts.button(
                "Cancel", visit.url(.action("cancel", on: id)), tone: "danger",
                fields: [("back", visit.ownPath)], asks: "Cancel this batch and all of its members?")
        }
        if (details.members[.tooManyTimes] ?? 0) > 0 {
            RowParts.button(
                "Retry those that gave up", visit.url(PageLink("commands", "act")), tone: "primary",
                fields: [
                    ("f-batch", id.description), ("f-status", CommandStatus.tooManyTimes.name), ("scope", "all"),
                    ("verb", "retry"), ("back", visit.ownPath),
                ])
        }
    }

    private var members: HTML {
        tag(.section, .class("panel"), .the(.labelledBy, "members-title")) {
            tag(.h2, .id("members-title")) {
                "Members"
                tag(.a, .class("all"), .href(visit.url(.commands([("batch", id.description)])))) {
                    "all \(Figures.grouped(Int64(batch.members)))"
                }
            }
            tag(.div, .data("s", "members")) {
                Self.progress(batch, key: nil)
                tag(.ul, .class("stats")) {
                    for status in CommandStatus.allCases {
                        if let count = details.members[status] { figure(status, count) }
                    }
                }
                if !details.isComplete { tag(.p, .class("dim")) { "Only the newest members are counted by status." } }
                if !batch.isSealed, !batch.command.status.isFinal {
                    tag(.p, .class("dim")) { "It takes more members, and ends after it is sealed." }
                }
            }
        }
    }

    private func figure(_ status: CommandStatus, _ count: Int) -> HTML {
        let items = [("batch", id.description), ("status", status.name)].map { (name: $0.0, value: $0.1) }
        return tag(.li) {
            tag(.a, .href(visit.url(.commands(items)))) {
                tag(.b, .class("num \(status.tone)")) {
                    Figures.grouped(Int64(count)) + (details.isComplete ? "" : "+")
                }
                tag(.span) { " \(status.word)" }
            }
        }
    }

    private var failed: HTML {
        guard !details.failed.isEmpty else { return HTML() }
        return tag(.section, .class("panel"), .the(.labelledBy, "failed-title")) {
            tag(.h2, .id("failed-title")) { "The newest that failed" }
            tag(.ul, .class("rows"), .data("s", "failed")) { for command in details.failed { row(command, nil) } }
        }
    }

    private var callbacks: HTML {
        tag(.section, .class("panel"), .the(.labelledBy, "then-title")) {
            tag(.h2, .id("then-title")) { "After its end" }
            tag(.div, .data("s", "then")) {
                if details.callbacks.isEmpty {
                    tag(.p, .class("dim")) { "No command runs after it." }
                } else {
                    tag(.ul, .class("rows")) {
                        for callback in details.callbacks {
                            row(callback.command, callback.condition.map { "after \($0.name)" } ?? "its turn has come")
                        }
                    }
                }
            }
        }
    }

    private func row(_ command: Command, _ note: String?) -> HTML {
        tag(.li, .data("row", command.id.description)) {
            command.status.html
            tag(.a, .class("grow"), .href(visit.url(.command(command.id)))) {
                tag(.bdi) { command.type }
                tag(.code) { " \(command.id.description.suffix(8))" }
            }
            tag(.span, .class("dim cut")) { tag(.bdi) { note ?? command.reason ?? "" } }
        }
    }
}
