import Foundation

/// Goodput over time, with what happened to the link and what the coordinator made of it.
struct TimePlot {
    let record: RunRecord
    let title: String
    private let size = (width: 860.0, height: 260.0)
    private let frame = (left: 56.0, top: 46.0, right: 12.0, bottom: 34.0)

    init(_ record: RunRecord, title: String) {
        self.record = record
        self.title = title
    }

    private var end: Double { Double(record.goodput.map(\.values.count).max() ?? 1) * RunRecord.step }
    private var top: Double { max(1, record.goodput.flatMap(\.values).max() ?? 1) * 1.05 }

    private func x(_ seconds: Double) -> Double {
        frame.left + seconds / end * (size.width - frame.left - frame.right)
    }

    private func y(_ megabits: Double) -> Double {
        size.height - frame.bottom - megabits / top * (size.height - frame.top - frame.bottom)
    }

    var svg: String {
        var drawing = Drawing(width: size.width, height: size.height)
        drawing.text(frame.left, 16, title, weight: "bold")
        for share in [0.0, 0.25, 0.5, 0.75, 1] {
            let value = top * share
            drawing.line(frame.left, y(value), size.width - frame.right, y(value), "#ddd")
            drawing.text(frame.left - 6, y(value) + 4, value.short, anchor: "end")
        }
        for share in stride(from: 0.0, through: 1, by: 0.125) {
            drawing.text(x(end * share), size.height - 16, (end * share).rounded().short, anchor: "middle")
        }
        drawing.text(size.width - frame.right, size.height - 3, "seconds; Mbit/s of payload", anchor: "end")
        for change in levelChanges where (0...end).contains(change.at) {
            drawing.line(x(change.at), frame.top, x(change.at), size.height - frame.bottom, "#b8860b", dashes: "2 3")
            drawing.text(x(change.at) + 2, frame.top - 4, change.text, colour: "#8a6508")
        }
        for mark in record.marks where (0...end).contains(mark.at) {
            drawing.line(x(mark.at), frame.top, x(mark.at), size.height - frame.bottom, "#999", dashes: "5 3")
            drawing.text(x(mark.at) + 2, frame.top + 10, mark.text, colour: "#777")
        }
        for (index, line) in record.goodput.enumerated() {
            let colour = Drawing.colours[index % Drawing.colours.count]
            drawing.path(line.values.enumerated().map { (x((Double($0) + 0.5) * RunRecord.step), y($1)) }, colour)
            drawing.text(size.width - frame.right - Double(index) * 90, 16, line.kind, anchor: "end", colour: colour)
        }
        return drawing.svg
    }

    /// Where a link's level becomes another.
    private var levelChanges: [(at: Double, text: String)] {
        var last: [String: String] = [:]
        return record.levels.compactMap { change in
            guard last.updateValue(change.level, forKey: change.link) != change.level else { return nil }
            return (change.at, change.link == "*" ? "* \(change.level)" : change.level)
        }
    }
}

/// Every value of a figure, a row for each arm, with the median.
struct StripPlot {
    let title: String
    let rows: [(name: String, values: [Double])]

    var svg: String {
        let (left, width, step) = (210.0, 860.0, 26.0)
        let values = rows.flatMap(\.values)
        let top = max(values.max() ?? 1, 1e-9) * 1.05
        let bottom = min(0, values.min() ?? 0)
        func x(_ value: Double) -> Double { left + (value - bottom) / (top - bottom) * (width - left - 20) }
        let height = 60 + step * Double(rows.count)
        var drawing = Drawing(width: width, height: height)
        drawing.text(10, 16, title, weight: "bold")
        for share in stride(from: 0.0, through: 1, by: 0.125) {
            let value = bottom + (top - bottom) * share
            drawing.line(x(value), 28, x(value), height - 24, "#ddd")
            drawing.text(x(value), height - 10, value.short, anchor: "middle")
        }
        for (index, row) in rows.enumerated() {
            let y = 44 + Double(index) * step
            drawing.text(left - 8, y + 4, row.name, anchor: "end")
            for value in row.values { drawing.circle(x(value), y, Drawing.colours[0]) }
            if let median = row.values.median {
                drawing.line(x(median), y - 9, x(median), y + 9, "#c0392b", width: 2.5)
            }
        }
        return drawing.svg
    }
}

/// The little of SVG that the plots need.
struct Drawing {
    static let colours = ["#2471a3", "#1e8449", "#8e44ad", "#ca6f1e"]
    private var parts: [String]

    init(width: Double, height: Double) {
        parts = [
            "<svg xmlns='http://www.w3.org/2000/svg' width='\(Int(width))' height='\(Int(height))' "
                + "font-family='sans-serif' font-size='11'>", "<rect width='100%' height='100%' fill='white'/>",
        ]
    }

    var svg: String { (parts + ["</svg>\n"]).joined(separator: "\n") }

    mutating func text(
        _ x: Double, _ y: Double, _ text: String, anchor: String = "start", colour: String = "#333",
        weight: String = "normal"
    ) {
        let escaped = text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
        parts.append(
            "<text x='\(Self.number(x))' y='\(Self.number(y))' text-anchor='\(anchor)' fill='\(colour)' "
                + "font-weight='\(weight)'>\(escaped)</text>")
    }

    mutating func line(
        _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ colour: String, width: Double = 1, dashes: String = ""
    ) {
        parts.append(
            "<line x1='\(Self.number(x1))' y1='\(Self.number(y1))' x2='\(Self.number(x2))' y2='\(Self.number(y2))' "
                + "stroke='\(colour)' stroke-width='\(width)' stroke-dasharray='\(dashes)'/>")
    }

    mutating func path(_ points: [(Double, Double)], _ colour: String) {
        let list = points.map { "\(Self.number($0)),\(Self.number($1))" }.joined(separator: " ")
        parts.append("<polyline points='\(list)' fill='none' stroke='\(colour)' stroke-width='1.4'/>")
    }

    mutating func circle(_ x: Double, _ y: Double, _ colour: String) {
        parts.append(
            "<circle cx='\(Self.number(x))' cy='\(Self.number(y))' r='4' fill='\(colour)' fill-opacity='0.45'/>")
    }

    private static func number(_ value: Double) -> String { String(format: "%.1f", value) }
}
