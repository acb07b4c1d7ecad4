/// Lines over a common horizontal axis, with vertical marks.
struct LinePlot {
    struct Line {
        var name: String
        var points: [(x: Double, y: Double)]
    }

    struct Mark {
        enum Kind {
            /// A change that the scenario makes.
            case cause
            /// A change of a level that the coordinator reports.
            case level
        }

        var x: Double
        var text: String
        var kind = Kind.cause
    }

    let title: String
    /// The names and units of both axes.
    let axes: String
    let lines: [Line]
    var marks: [Mark] = []

    private let size = (width: 860.0, height: 260.0)
    private let frame = (left: 56.0, top: 46.0, right: 12.0, bottom: 34.0)

    init(title: String, axes: String, lines: [Line], marks: [Mark] = []) {
        self.title = title
        self.axes = axes
        self.lines = lines
        self.marks = marks
    }

    private var end: Double { max(lines.flatMap(\.points).map(\.x).max() ?? 1, 1e-9) }
    private var top: Double { max(lines.flatMap(\.points).map(\.y).max() ?? 1, 1e-9) * 1.05 }

    private func x(_ value: Double) -> Double {
        frame.left + value / end * (size.width - frame.left - frame.right)
    }

    private func y(_ value: Double) -> Double {
        size.height - frame.bottom - value / top * (size.height - frame.top - frame.bottom)
    }

    var svg: String {
        var drawing = Drawing(width: size.width, height: size.height)
        drawing.text(frame.left, 16, title, weight: "bold")
        drawGrid(into: &drawing)
        for mark in marks where (0...end).contains(mark.x) { draw(mark, into: &drawing) }
        var right = size.width - frame.right
        for (index, line) in lines.enumerated() {
            let colour = Drawing.colours[index % Drawing.colours.count]
            drawing.path(line.points.map { (x($0.x), y($0.y)) }, colour)
            drawing.text(right, 16, line.name, anchor: "end", colour: colour)
            right -= Double(line.name.count) * 6.5 + 16
        }
        return drawing.svg
    }

    private func drawGrid(into drawing: inout Drawing) {
        for share in [0.0, 0.25, 0.5, 0.75, 1] {
            let value = top * share
            drawing.line(frame.left, y(value), size.width - frame.right, y(value), "#ddd")
            drawing.text(frame.left - 6, y(value) + 4, value.short, anchor: "end")
        }
        for share in stride(from: 0.0, through: 1, by: 0.125) {
            let value = end * share
            drawing.text(
                x(value), size.height - 16, (end > 20 ? value.rounded() : value).short, anchor: "middle")
        }
        drawing.text(size.width - frame.right, size.height - 3, axes, anchor: "end")
    }

    private func draw(_ mark: Mark, into drawing: inout Drawing) {
        let at = x(mark.x)
        switch mark.kind {
        case .cause:
            drawing.line(at, frame.top, at, size.height - frame.bottom, "#999", dashes: "5 3")
            drawing.text(at + 2, frame.top + 10, mark.text, colour: "#777")
        case .level:
            drawing.line(at, frame.top, at, size.height - frame.bottom, "#b8860b", dashes: "2 3")
            drawing.text(at + 2, frame.top - 4, mark.text, colour: "#8a6508")
        }
    }
}
