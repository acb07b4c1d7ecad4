/// Aligned columns, separated by two spaces.
package struct Table: Sendable {
    package enum Alignment: Sendable { case left, right }

    private let alignments: [Alignment]
    private var rows: [[String]]

    package init(_ header: [(String, Alignment)]) {
        alignments = header.map(\.1)
        rows = [header.map(\.0)]
    }

    package mutating func add(_ row: [String]) { rows.append(row) }

    package var isEmpty: Bool { rows.count < 2 }

    /// The header and the rows, without trailing spaces.
    package var lines: [String] {
        var widths = alignments.map { _ in 0 }
        for row in rows {
            for (column, cell) in row.enumerated() where column < widths.count {
                widths[column] = max(widths[column], cell.count)
            }
        }
        return rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() where column < widths.count {
                if column > 0 { line += "  " }
                let space = String(repeating: " ", count: widths[column] - cell.count)
                line += alignments[column] == .left ? cell + space : space + cell
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}
