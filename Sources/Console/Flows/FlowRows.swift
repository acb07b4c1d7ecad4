package import Commands

/// The lines of a flow for a person: its state, then its nodes in their order, each with its parents behind an arrow.
/// Pure.
package enum FlowRows {
    /// Nodes whose names differ only in the digits at their end are shown in one line where they are more than this.
    package static let maxAlike = 40

    /// - Parameters:
    ///   - nodes: all nodes and callbacks, in the order of their positions.
    ///   - columns: of the terminal; nil cuts no line.
    ///   - showsAll: every node has a line of its own.
    package static func lines(
        _ flow: FlowState, _ nodes: [FlowNodeState], columns: Int?, showsAll: Bool = false, now: Timestamp
    ) -> [String] {
        let layout = FlowRowLayout(flow, nodes, maxAlike: showsAll ? .max : maxAlike, now: now)
        let rows = layout.rows
        let name = min(rows.reduce(4) { max($0, TerminalText.width($1.name)) }, columns == nil ? .max : 40)
        let status = rows.reduce(0) { max($0, TerminalText.width($1.status)) }
        let time = rows.reduce(0) { max($0, TerminalText.width($1.time)) }
        return [cut(head(flow, columns, now), columns)]
            + rows.map { row in
                let start =
                    "  \(TerminalText.fit(row.name, width: name))  \(TerminalText.fit(row.status, width: status))  "
                    + TerminalText.fit(row.time, width: time, alignRight: true)
                let detail = row.detail.isEmpty ? "" : "  \(row.detail)"
                let parents = row.parents.isEmpty ? "" : "  ← \(row.parents)"
                return cut(start + detail + parents, columns)
            }
    }

    /// A narrow terminal gets the end of the id.
    private static func head(_ flow: FlowState, _ columns: Int?, _ now: Timestamp) -> String {
        let command = flow.command
        let end = command.status.isFinal ? command.updatedAt : now
        let failed = flow.failed > 0 ? " · \(Figures.grouped(Int64(flow.failed))) failed" : ""
        let done = Figures.grouped(Int64(flow.nodes - flow.open))
        let name = flow.name.isEmpty ? "flow" : flow.name
        let state =
            "\(command.status.word) · \(done) of \(Figures.grouped(Int64(flow.nodes))) ended\(failed) · "
            + (end - command.createdAt).shortText
        let line = "\(name) \(command.id)  \(state)"
        guard let columns, TerminalText.width(line) > columns else { return line }
        return "\(name) \(command.id.description.suffix(12))  \(state)"
    }

    private static func cut(_ line: String, _ columns: Int?) -> String {
        var line = columns.map { TerminalText.cut(line, width: $0) } ?? TerminalText.plain(line)
        while line.last == " " { line.removeLast() }
        return line
    }
}
