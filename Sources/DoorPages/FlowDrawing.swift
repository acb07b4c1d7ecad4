internal import Commands
internal import Console

/// A flow as a graph.
struct FlowDrawing {
    /// Nodes of a drawing that a person can still read.
    static let maxNodes = 200

    let visit: Visit
    let nodes: [FlowNodeState]

    private static let width = 168
    private static let height = 40
    private static let stepX = 216
    private static let stepY = 54

    var html: HTML {
        let layers = FlowLayers(nodes)
        let size = (layers.columns * Self.stepX - 40, layers.rows * Self.stepY)
        return tag(
            .div, .class("graph"), .the(.tabindex, "0"), .the(.role, "region"), .the(.label, "Drawing of the flow")
        ) {
            tag(
                .svg, .the(.width, "\(size.0)"), .the(.height, "\(size.1)"), .the(.viewBox, "0 0 \(size.0) \(size.1)"),
                .the(.hidden, "true")
            ) {
                for place in layers.places { edges(place, layers) }
                for place in layers.places { box(place) }
            }
        }
    }

    private func edges(_ place: FlowLayers.Place, _ layers: FlowLayers) -> HTML {
        var all = HTML()
        for parent in place.node.parents {
            guard let index = layers.index[parent.position] else { continue }
            let from = layers.places[index]
            let (x1, y1) = (from.column * Self.stepX + Self.width, from.row * Self.stepY + Self.height / 2)
            let (x2, y2) = (place.column * Self.stepX, place.row * Self.stepY + Self.height / 2)
            let bend = (Self.stepX - Self.width) / 2
            let curve: String
            if place.column - from.column > 1 {
                // Between the rows, because a straight line would be hidden by the boxes that it passes.
                let gap = min(from.row, place.row) * Self.stepY + (Self.height + Self.stepY) / 2
                curve =
                    "C\(x1 + bend) \(y1) \(x1 + bend) \(gap) \(x1 + 2 * bend) \(gap)L\(x2 - 2 * bend) \(gap)"
                    + "C\(x2 - bend) \(gap) \(x2 - bend) \(y2) \(x2) \(y2)"
            } else {
                curve = "C\(x1 + bend) \(y1) \(x1 + bend) \(y2) \(x2) \(y2)"
            }
            all.append(
                tag(.path, .class(parent.condition == .success ? "" : "other"), .the(.d, "M\(x1) \(y1)\(curve)")))
        }
        return all
    }

    private func box(_ place: FlowLayers.Place) -> HTML {
        let command = place.node.command
        let (x, y) = (place.column * Self.stepX, place.row * Self.stepY)
        return tag(.a, .href(visit.url(.command(command.id))), .the(.tabindex, "-1")) {
            tag(.g, .class(command.status.tone)) {
                tag(
                    .rect, .the(.x, "\(x + 1)"), .the(.y, "\(y + 1)"), .the(.width, "\(Self.width - 2)"),
                    .the(.height, "\(Self.height - 2)"), .the(.rx, "6"))
                tag(.text, .the(.x, "\(x + 10)"), .the(.y, "\(y + 17)")) { Self.fit(place.node.shownName, 22) }
                tag(.text, .class("sub"), .the(.x, "\(x + 10)"), .the(.y, "\(y + 32)")) {
                    "\(command.status.glyph) \(Self.fit("\(command.status.word) · \(command.type)", 24))"
                }
            }
        }
    }

    private static func fit(_ text: String, _ count: Int) -> String {
        text.count > count ? "\(text.prefix(count - 1))…" : text
    }
}

extension FlowNodeState {
    /// Its name; for a callback the end that it handles.
    var shownName: String { name ?? "then \(parents.first?.condition.name ?? "end")" }
}

/// The positions of a flow's nodes in a drawing: each is to the right of its parents. Pure.
struct FlowLayers {
    struct Place {
        var node: FlowNodeState
        var column: Int
        var row: Int
    }

    private(set) var places: [Place] = []
    private(set) var columns = 0
    private(set) var rows = 0
    /// By position.
    private(set) var index: [Int64: Int] = [:]

    /// - Parameter nodes: in the order of their positions, in which each is behind its parents.
    init(_ nodes: [FlowNodeState]) {
        var columnOf: [Int64: Int] = [:]
        var filled: [Int: Int] = [:]
        let last = nodes.filter { $0.name != nil }.count
        for node in nodes {
            let parents = node.parents.compactMap { columnOf[$0.position] }
            // A callback waits for the flow itself: it stands behind all nodes.
            let column = node.name == nil ? Int.max : (parents.max() ?? -1) + 1
            columnOf[node.position] = column == .max ? last : column
        }
        let end = (columnOf.values.filter { $0 < last }.max() ?? -1) + 1
        for node in nodes {
            let column = node.name == nil ? end : columnOf[node.position] ?? 0
            let row = filled[column, default: 0]
            filled[column] = row + 1
            index[node.position] = places.count
            places.append(Place(node: node, column: column, row: row))
            columns = max(columns, column + 1)
            rows = max(rows, row + 1)
        }
    }
}
