internal import Commands
internal import Console
internal import DoorLive

/// A small plot of the last hour at most, drawn on the server. The axis begins at zero, and a gap stays a gap.
struct SparklineView {
    let series: LiveSeries
    /// For a reader that does not see it.
    let label: String
    var tone = "run"
    var key: String?

    private static let width = 240.0
    private static let height = 32.0
    /// A shorter series stands at the right of the plot.
    private static let minSlots = 60

    /// The time that the plot of a series covers, in words.
    static func span(of series: LiveSeries) -> String {
        let seconds = Double(max(series.values.count, minSlots)) * series.interval.seconds
        return seconds >= 3600 ? "hour" : "\(Int((seconds / 60).rounded())) minutes"
    }

    var html: HTML {
        let top = Swift.max(series.values.compactMap(\.self).max() ?? 0, 1e-9)
        return tag(
            .svg, .class("spark \(tone)"), .the(.viewBox, "0 0 240 32"), .the(.preserveAspectRatio, "none"),
            .the(.role, "img"), .the(.label, label)
        ) {
            tag(.path, .class("area"), .the(.d, path(top, closed: true)), key.map { .live("\($0)-area") })
            tag(
                .path, .class("line"), .the(.d, path(top, closed: false)), .the(.vectorEffect, "non-scaling-stroke"),
                key.map { .live("\($0)-line") })
        }
    }

    /// - Parameter closed: each run of values down to the axis.
    private func path(_ top: Double, closed: Bool) -> String {
        let values = series.values
        guard values.count > 1 else { return "M0 31H240" }
        let slots = max(values.count, Self.minSlots)
        let step = Self.width / Double(slots - 1)
        let first = slots - values.count
        var path = ""
        var runStart: Double?
        for (index, value) in values.enumerated() {
            let x = Double(first + index) * step
            guard let value else {
                if closed, let start = runStart { path += "L\(number(x - step)) 32L\(number(start)) 32Z" }
                runStart = nil
                continue
            }
            let y = Self.height - 1 - value / top * (Self.height - 3)
            path += "\(runStart == nil ? "M" : "L")\(number(x)) \(number(y))"
            if runStart == nil { runStart = x }
        }
        if closed, let start = runStart { path += "L\(number(Self.width)) 32L\(number(start)) 32Z" }
        return path.isEmpty ? "M0 31H240" : path
    }

    private func number(_ value: Double) -> String { Figures.decimal(value, digits: 1) }
}
