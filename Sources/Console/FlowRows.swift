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

/// The cells of the lines of a flow.
struct FlowRowLayout {
    struct Row {
        var name: String
        var status: String
        /// From the submit of the flow to the end of the node.
        var time = ""
        var detail = ""
        var parents = ""
    }

    private(set) var rows: [Row] = []
    private let flow: FlowState
    private let now: Timestamp
    /// By position: the name that is shown, which a node may share with those like it.
    private var shownNames: [Int64: String] = [:]

    init(_ flow: FlowState, _ nodes: [FlowNodeState], maxAlike: Int, now: Timestamp) {
        self.flow = flow
        self.now = now
        var groups: [String: [FlowNodeState]] = [:]
        for node in nodes { if let name = node.name { groups[Self.stem(name), default: []].append(node) } }
        for (stem, group) in groups {
            let isFolded = group.count > maxAlike
            for node in group { shownNames[node.position] = isFolded ? "\(stem)*" : node.name }
        }
        var shown: Set<String> = []
        for node in nodes {
            guard let name = node.name else {
                rows.append(callback(node))
                continue
            }
            let group = groups[Self.stem(name)] ?? []
            if group.count <= maxAlike {
                rows.append(row(node, name))
            } else if shown.insert(Self.stem(name)).inserted {
                rows.append(folded(group, "\(Self.stem(name))*"))
            }
        }
    }

    /// The name without the digits at its end.
    private static func stem(_ name: String) -> String {
        String(name[..<(name.lastIndex { !$0.isASCII || !$0.isNumber }.map(name.index(after:)) ?? name.startIndex)])
    }

    private func row(_ node: FlowNodeState, _ name: String) -> Row {
        Row(
            name: name, status: node.command.status.word, time: time(node.command), detail: detail(node),
            parents: parents(node.parents))
    }

    private func callback(_ node: FlowNodeState) -> Row {
        let condition = node.parents.first?.condition ?? .end
        return Row(
            name: "then \(condition.name)", status: node.command.status.word, time: time(node.command),
            detail: detail(node))
    }

    private func folded(_ group: [FlowNodeState], _ name: String) -> Row {
        var counts: [CommandStatus: Int] = [:]
        for node in group { counts[node.command.status, default: 0] += 1 }
        let most = counts.max { ($0.value, $1.key.rawValue) < ($1.value, $0.key.rawValue) }?.key ?? .blocked
        var parts = ["\(Figures.grouped(Int64(counts[most] ?? 0))) of \(Figures.grouped(Int64(group.count)))"]
        for status in CommandStatus.allCases where status != most {
            if let count = counts[status] { parts.append("\(Figures.grouped(Int64(count))) \(status.word)") }
        }
        var all: [FlowNodeState.Parent] = []
        var seen: Set<String> = []
        for node in group {
            for parent in node.parents where seen.insert(shownNames[parent.position] ?? "").inserted {
                all.append(parent)
            }
        }
        return Row(
            name: name, status: most.name, detail: parts.joined(separator: ", "), parents: parents(all))
    }

    /// Names, each once; with the condition where it is not success.
    private func parents(_ parents: [FlowNodeState.Parent]) -> String {
        var texts: [String] = []
        var seen: Set<String> = []
        for parent in parents {
            let name = shownNames[parent.position] ?? "?"
            let text = parent.condition == .success ? name : "\(name) (\(parent.condition.name))"
            if seen.insert(text).inserted { texts.append(text) }
        }
        let shown = texts.prefix(6)
        return shown.joined(separator: ", ")
            + (texts.count > shown.count ? " and \(texts.count - shown.count) more" : "")
    }

    private func time(_ command: Command) -> String {
        guard command.status == .success || command.status == .tooManyTimes else { return "" }
        return "+\((command.updatedAt - flow.command.createdAt).shortText)"
    }

    private func detail(_ node: FlowNodeState) -> String {
        let command = node.command
        switch command.status {
        case .success, .queued: return ""
        case .new: return command.notBefore > now ? "not before \(command.notBefore)" : command.reason ?? ""
        case .sent: return command.total > 0 ? progress(command) : ""
        case .error:
            let wait = command.notBefore > now ? " in \((command.notBefore - now).shortText)" : ""
            return "retry \(command.retries) of \(command.retryLimit)\(wait)" + (command.reason.map { ": \($0)" } ?? "")
        case .blocked:
            let open = node.parents.count { !$0.isSatisfied }
            return node.parents.count > 1 ? "waits for \(open) of \(node.parents.count)" : ""
        case .cancelled where node.parents.contains { !$0.isSatisfied }:
            // The line of the parent has the rest of it.
            return command.reason.map { String($0.prefix { $0 != ":" }) } ?? ""
        case .cancelled, .tooManyTimes, .inDoubt:
            return (command.reason ?? "") + (node.mayFail && command.status != .inDoubt ? " (may fail)" : "")
        }
    }

    private func progress(_ command: Command) -> String {
        let share = min(max(Double(command.offset) / Double(command.total), 0), 1)
        return "\(Int(share * 100)) % of \(Figures.bytes(command.total))"
    }
}
