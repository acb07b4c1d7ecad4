internal import Commands
internal import Console
internal import Hummingbird

/// One flow: a drawing, and its nodes as a list.
struct FlowView {
    let visit: Visit
    let flow: FlowState
    let nodes: [FlowNodeState]

    var response: Response {
        let name = flow.name.isEmpty ? "Flow" : flow.name
        return visit.page(name, .flows) {
            tag(.div, .class("head")) {
                tag(.div) {
                    tag(.h1) { tag(.bdi) { name } }
                    tag(.p, .data("s", "state")) {
                        flow.command.status.html
                        tag(.span, .class("dim")) {
                            " · \(Figures.grouped(Int64(flow.nodes - flow.open))) of "
                            "\(Figures.grouped(Int64(flow.nodes))) ended"
                            if flow.failed > 0 { " · \(Figures.grouped(Int64(flow.failed))) failed" }
                        }
                    }
                }
                tag(.a, .class("button"), .href(visit.url(.command(flow.command.id)))) { "Its command" }
            }
            if nodes.count <= FlowDrawing.maxNodes, !nodes.isEmpty {
                tag(.section, .class("panel"), .the(.label, "Drawing"), .data("s", "drawing")) {
                    FlowDrawing(visit: visit, nodes: nodes).html
                }
            }
            list
        }
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
            if flow.nodes > nodes.count {
                tag(.p, .class("dim")) {
                    "The first \(nodes.count) of \(Figures.grouped(Int64(flow.nodes))) nodes; “sluice flow \(flow.command.id)” "
                    "shows all."
                }
            }
        }
    }

    private func after(_ node: FlowNodeState, _ names: [Int64: String]) -> String {
        let parents = node.parents.prefix(4).compactMap { names[$0.position] }
        guard !parents.isEmpty else { return "" }
        let more = node.parents.count > 4 ? " and \(node.parents.count - 4) more" : ""
        return "after \(parents.joined(separator: ", "))\(more)"
    }
}
