internal import Commands
internal import Console
internal import Door
internal import HTTPTypes
internal import Host
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

/// One flow: a drawing, and its nodes as a list.
struct FlowView {
    let visit: Visit
    let flow: FlowState
    /// Of this page.
    let nodes: [FlowNodeState]
    /// The page is the drawing without the list, for a flow whose page has no room for both.
    let isDrawing: Bool
    let isFirstPage: Bool
    let hasMore: Bool

    /// Nodes of a flow whose page has both drawing and list.
    private static let maxDrawnBesideList = 40

    private var hasOwnDrawing: Bool {
        flow.nodes > Self.maxDrawnBesideList && flow.nodes <= FlowDrawing.maxNodes
    }

    /// A flow in progress is blocked by its nodes, which is not a problem.
    static func status(_ flow: FlowState) -> HTML {
        guard flow.command.status == .blocked else { return flow.command.status.html }
        return flow.command.cancelRequested
            ? RowParts.state("ending", glyph: "–", tone: "warn", title: "cancelled when its last node has ended")
            : RowParts.state("open", glyph: "▸", tone: "run", title: "blocked until its last node has ended")
    }

    var response: Response {
        let name = flow.name.isEmpty ? "Flow" : flow.name
        return visit.page(name, .flows) {
            tag(.div, .class("head")) {
                tag(.div) {
                    tag(.h1) { tag(.bdi) { name } }
                    tag(.p, .data("s", "state")) {
                        Self.status(flow)
                        tag(.span, .class("dim")) {
                            " · \(Figures.grouped(Int64(flow.nodes - flow.open))) of "
                            "\(Figures.grouped(Int64(flow.nodes))) ended"
                            if flow.failed > 0 { " · \(Figures.grouped(Int64(flow.failed))) failed" }
                        }
                    }
                }
                tag(.div, .class("acts")) {
                    if isDrawing {
                        tag(.a, .class("button"), .href(visit.url(.flow(flow.command.id)))) { "List" }
                    } else if hasOwnDrawing {
                        tag(.a, .class("button"), .href(visit.url(page([("drawing", "yes")])))) { "Drawing" }
                    }
                    tag(.a, .class("button"), .href(visit.url(.command(flow.command.id)))) { "Its command" }
                }
            }
            if !nodes.isEmpty, isDrawing || isFirstPage && flow.nodes <= Self.maxDrawnBesideList {
                tag(.section, .class("panel"), .the(.label, "Drawing"), .data("s", "drawing")) {
                    FlowDrawing(visit: visit, nodes: nodes).html
                }
            }
            if !isDrawing { list }
        }
    }

    private func page(_ query: [(name: String, value: String)]) -> PageLink {
        PageLink("flows", flow.command.id.description, query: query)
    }

    private var list: HTML {
        let names = Dictionary(nodes.map { ($0.position, $0.shownName) }) { first, _ in first }
        return tag(.section, .class("panel"), .the(.labelledBy, "nodes-title")) {
            tag(.h2, .id("nodes-title")) { "Nodes" }
            tag(.ol, .class("rows"), .data("s", "nodes")) {
                for node in nodes {
                    tag(.li, .data("row", node.command.id.description)) {
                        node.command.status.html
                        tag(.a, .class("grow"), .href(visit.url(.command(node.command.id)))) {
                            tag(.bdi) { node.shownName }
                            tag(.span, .class("dim")) { " \(node.command.type)" }
                        }
                        tag(.span, .class("dim cut")) { after(node, names) }
                        tag(.span, .class("cut bad")) { tag(.bdi) { node.isUnneeded ? "" : node.command.reason ?? "" } }
                    }
                }
            }
            if hasMore || !isFirstPage {
                tag(.p, .class("more")) {
                    if hasMore, let last = nodes.last {
                        tag(
                            .a, .class("button"), .the(.rel, "next"),
                            .href(visit.url(page([("after", "\(last.position)")])))
                        ) {
                            "More nodes"
                        }
                    }
                    if !isFirstPage { tag(.a, .class("button"), .href(visit.url(page([])))) { "The first nodes" } }
                }
            }
        }
    }

    /// - Parameter names: of the nodes of this page, by position.
    private func after(_ node: FlowNodeState, _ names: [Int64: String]) -> String {
        guard !node.parents.isEmpty, node.name != nil else { return "" }
        let parents = node.parents.compactMap { names[$0.position] }.prefix(4)
        let others = node.parents.count - parents.count
        let rest = others == 0 ? [] : ["\(others) other\(others == 1 ? "" : "s")"]
        return "after \((parents + rest).joined(separator: ", "))"
    }
}
