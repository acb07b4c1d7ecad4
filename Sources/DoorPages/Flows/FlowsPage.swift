internal import Commands
internal import Console
internal import Door
internal import Host
internal import Hummingbird
internal import Queue

/// The flows: the list, and one of them.
struct FlowsPage: Sendable {
    private static let shown = 50
    /// Nodes of a page.
    private static let maxNodes = 50

    let route: PageRoute

    var endpoints: [Endpoint] { [route.page("/flows", Self.list), route.page("/flows/{id}", Self.show)] }

    private static func list(_ visit: Visit) async throws -> Response {
        let after = visit.request.query["before"].flatMap { CommandID($0) }
        let (flows, next) = try await visit.services.read { queue in
            try queue.flows(after: after, limit: shown, within: .milliseconds(250))
        }
        return visit.page("Flows", .flows) {
            tag(.h1, .class("hide")) { "Flows" }
            if flows.isEmpty {
                tag(.p, .class("empty")) {
                    next == nil ? "There are no flows yet. " : "No flow so far. "
                    tag(.code) { "sluice flow submit FILE" }
                    " submits one: commands that wait for each other."
                }
            } else {
                tag(.table, .class("list")) {
                    tag(.thead) {
                        tag(.tr) {
                            for title in ["Status", "Flow", "Ended", "Failed", "Age"] {
                                tag(.th, .the(.scope, "col")) { title }
                            }
                        }
                    }
                    tag(.tbody) { for flow in flows.prefix(2 * shown) { row(flow, visit) } }
                }
            }
            if let next {
                tag(.p, .class("more")) {
                    tag(
                        .a, .class("button"),
                        .href(visit.url(PageLink("flows", query: [("before", next.description)])))
                    ) { "Older" }
                    " "
                    RowParts.lookedBack(to: next, visit)
                }
            }
        }
    }

    private static func row(_ flow: FlowState, _ visit: Visit) -> HTML {
        let key = "flow-\(flow.command.id)"
        return tag(.tr, .data("row", flow.command.id.description)) {
            tag(.td, .live("\(key)-status")) { FlowView.status(flow) }
            tag(.td, .class("c-name")) {
                tag(.a, .href(visit.url(.flow(flow.command.id)))) {
                    tag(.bdi) { flow.name.isEmpty ? "flow" : flow.name }
                    tag(.code) { " \(flow.command.id.description.suffix(8))" }
                }
            }
            tag(.td) {
                RowParts.progress(
                    Int64(flow.nodes - flow.open), of: Int64(flow.nodes), label: "Nodes that have ended", key: key)
            }
            tag(.td, .class("num \(flow.failed > 0 ? "bad" : "dim")"), .data("l", "failed"), .live("\(key)-failed")) {
                Figures.grouped(Int64(flow.failed))
            }
            tag(.td, .class("c-age"), .data("l", "age")) { flow.command.createdAt.ageHTML(now: visit.now) }
        }
    }

    private static func show(_ visit: Visit) async throws -> Response {
        guard let id = CommandID(visit.request.parameters["id"] ?? "") else {
            throw Problem(.notFound, "not-found", "The id of a flow is a UUID.")
        }
        let after = visit.request.query["after"].flatMap { Int64($0) } ?? 0
        let isDrawing = visit.request.query["drawing"] == "yes"
        let limit = isDrawing ? FlowDrawing.maxNodes : maxNodes
        let found = try await visit.services.read { queue in
            try queue.flow(id, after: after, limit: limit)
        }
        guard case .found(let details) = found else {
            throw Problem(.notFound, "not-found", "There is no flow \(id); a node has a page of a command.")
        }
        return FlowView(
            visit: visit, flow: details.flow, nodes: details.nodes, isDrawing: isDrawing, isFirstPage: after <= 0,
            hasMore: !isDrawing && details.next != nil
        ).response
    }
}
