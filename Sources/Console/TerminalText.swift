/// Text in the cells of a terminal.
package enum TerminalText {
    /// The number of cells of the text. Approximate: East Asian and emoji blocks are wide, combining marks
    /// take no cell.
    package static func width(_ text: String) -> Int { text.reduce(0) { $0 + width($1) } }

    /// The text as one line without effects on a terminal: each control character and line separator becomes
    /// a space.
    package static func plain(_ text: String) -> String {
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
        var result = ""
        for scalar in text.unicodeScalars { result.unicodeScalars.append(isControl(scalar) ? " " : scalar) }
        return result
    }

    /// The text without control characters, cut to `width` cells; a cut text ends with an ellipsis.
    package static func cut(_ text: String, width limit: Int) -> String {
        guard limit > 0 else { return "" }
        var cells = 0
        var result = ""
        for character in text {
            let shown = isControl(character) ? " " : character
            let width = width(shown)
            if cells + width > limit {
                while cells >= limit, let last = result.popLast() { cells -= self.width(last) }
                return result + "…"
            }
            result.append(shown)
            cells += width
        }
        return result
    }

    /// The end of the text, without control characters and of at most `width` cells; a cut text begins with an
    /// ellipsis.
    package static func cutStart(_ text: String, width limit: Int) -> String {
        guard limit > 0 else { return "" }
        var cells = 0
        var kept: [Character] = []
        for character in text.reversed() {
            let shown = isControl(character) ? " " : character
            cells += width(shown)
            if cells > limit {
                while cells >= limit + 1, let first = kept.popLast() { cells -= width(first) }
                return "…" + String(kept.reversed())
            }
            kept.append(shown)
        }
        return String(kept.reversed())
    }

    /// Cut or filled with spaces to exactly `width` cells.
    package static func fit(_ text: String, width limit: Int, alignRight: Bool = false) -> String {
        let text = cut(text, width: limit)
        let space = String(repeating: " ", count: max(limit - width(text), 0))
        return alignRight ? space + text : text + space
    }

    private static func isControl(_ character: Character) -> Bool {
        character.unicodeScalars.contains { isControl($0) || $0.properties.generalCategory == .format }
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    private static func width(_ character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        if scalar.isASCII { return 1 }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            return 2
        default: return scalar.properties.generalCategory == .nonspacingMark ? 0 : 1
        }
    }
}

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

/// A row of bars, one for each value.
package enum Sparkline {
    private static let levels: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    /// - Parameters:
    ///   - values: oldest first; of more than `width`, the newest are shown.
    ///   - width: characters; missing values are spaces on the left.
    package static func text(_ values: [Double], width: Int) -> String {
        let shown = values.suffix(max(width, 0))
        let top = shown.max() ?? 0
        var text = String(repeating: " ", count: max(width - shown.count, 0))
        for value in shown {
            guard value > 0, top > 0, value.isFinite else {
                text.append(value > 0 ? "█" : "▁")
                continue
            }
            text.append(levels[min(Int((value / top * 8).rounded(.up)), 8) - 1])
        }
        return text
    }
}
