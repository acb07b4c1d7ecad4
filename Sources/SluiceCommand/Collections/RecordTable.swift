internal import Commands
internal import Console

/// Rows in aligned columns, which fit the width of a terminal. Only the first rows decide the widths, so that
/// any number of rows is printed in the memory of those.
struct RecordTable {
    private static let measuredRows = 200
    private static let minColumn = 6

    private let header: [String]
    /// The columns of the terminal; nil where nothing is cut.
    private let width: Int?
    private var waiting: [[String]] = []
    private var widths: [Int]?

    init(_ header: [String], width: Int? = Output.isTerminal ? Terminal.size.columns : nil) {
        self.header = header
        self.width = width
    }

    /// A value in a cell.
    static func text(_ value: JSONValue) -> String { value == .null ? "" : value.string ?? value.text }

    mutating func add(_ row: [String]) {
        guard let widths else {
            waiting.append(row)
            if waiting.count == Self.measuredRows { finish() }
            return
        }
        Output.line(Self.line(row, widths))
    }

    /// Prints the rows that wait.
    mutating func finish() {
        guard widths == nil, !waiting.isEmpty else { return }
        let widths = Self.widths(
            header.indices.map { column in
                ([header] + waiting).map { TerminalText.width($0[column]) }.max() ?? 0
            }, within: width)
        Output.line(Self.line(header, widths))
        for row in waiting { Output.line(Self.line(row, widths)) }
        self.widths = widths
        waiting = []
    }

    /// Takes cells from the widest columns until the line fits.
    static func widths(_ wanted: [Int], within limit: Int?) -> [Int] {
        guard let limit else { return wanted }
        var widths = wanted
        var excess = widths.reduce(0, +) + 2 * max(widths.count - 1, 0) - limit
        while excess > 0, let widest = widths.indices.max(by: { widths[$0] < widths[$1] }), widths[widest] > minColumn {
            let second = widths.indices.filter { $0 != widest }.map { widths[$0] }.max() ?? 0
            let cut = min(excess, max(widths[widest] - max(second, minColumn), 1))
            widths[widest] -= cut
            excess -= cut
        }
        return widths
    }

    private static func line(_ row: [String], _ widths: [Int]) -> String {
        var line = ""
        for (cell, width) in zip(row, widths) {
            if !line.isEmpty { line += "  " }
            line += TerminalText.fit(cell, width: width)
        }
        while line.last == " " { line.removeLast() }
        return line
    }
}
