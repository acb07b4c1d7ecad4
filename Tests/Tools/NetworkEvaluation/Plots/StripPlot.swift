/// Every value of a figure as a point: a row for each arm, with the median as a red line.
struct StripPlot {
    let title: String
    let rows: [(name: String, values: [Double])]

    var svg: String {
        let (left, width, step) = (260.0, 860.0, 26.0)
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
