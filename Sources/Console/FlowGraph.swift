package import Commands

/// A flow in the language of Graphviz. Pure.
package enum FlowGraph {
    /// - Parameter nodes: all nodes and callbacks.
    /// - Returns: the lines of a file for `dot`.
    package static func lines(_ flow: FlowState, _ nodes: [FlowNodeState]) -> [String] {
        var lines = [
            "digraph \(quoted(flow.name.isEmpty ? "flow" : flow.name)) {",
            "  rankdir=LR;",
            "  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];",
        ]
        let flowPosition = flow.command.turn
        let hasCallbacks = nodes.contains { $0.name == nil }
        if hasCallbacks {
            let label = "\(flow.name)\n\(flow.command.status.word)"
            lines.append(
                "  n\(flowPosition) [label=\(quoted(label)), shape=ellipse, fillcolor=\(color(flow.command.status))];")
        }
        for node in nodes {
            let name = node.name ?? "then \(node.parents.first?.condition.name ?? "end")"
            let status = node.isUnneeded ? "not needed" : node.command.status.word
            let label = quoted("\(name)\n\(node.command.type)\n\(status)")
            lines.append("  n\(node.position) [label=\(label), fillcolor=\(color(node.command.status))];")
        }
        for node in nodes {
            for parent in node.parents {
                let style =
                    parent.condition == .success ? "" : " [label=\(quoted(parent.condition.name)), style=dashed]"
                lines.append("  n\(parent.position) -> n\(node.position)\(style);")
            }
        }
        lines.append("}")
        return lines
    }

    private static func color(_ status: CommandStatus) -> String {
        switch status {
        case .success: "\"#c8e6c9\""
        case .new, .queued, .sent: "\"#bbdefb\""
        case .error, .inDoubt: "\"#ffe0b2\""
        case .tooManyTimes: "\"#ffcdd2\""
        case .cancelled: "\"#e0e0e0\""
        case .blocked: "\"#ffffff\""
        }
    }

    /// A string of the DOT language.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            default: quoted.unicodeScalars.append(scalar.properties.generalCategory == .control ? " " : scalar)
            }
        }
        return quoted + "\""
    }
}
