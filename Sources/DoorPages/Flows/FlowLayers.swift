internal import Commands

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
