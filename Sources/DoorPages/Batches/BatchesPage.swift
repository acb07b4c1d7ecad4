internal import Commands
internal import Console
internal import Door
internal import Host
internal import Hummingbird
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
